// Defines the energies of atoms with LibTorch's differentiable operations, for shapes with moments and without:
// ManyBodyKernel and NetworkKernel must agree with it. many_body_kernel.h has the formulas.

#ifndef RUTILE_LIB_MANY_BODY_MANY_BODY_REFERENCE_H_
#define RUTILE_LIB_MANY_BODY_MANY_BODY_REFERENCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/network/network_shape.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// These have the contracts of ReferenceEnergySums and ReferenceAtomEnergies (network_reference.h), to which they pass
// shapes without moments. With moments, the invariants are computed in the parameters' type and `eager` says in which
// type the networks run; there is no script: CHECK-fails if eager.script is set. invariants, vectors: unless null, set
// to M [A, K] and to A of l = 1 [A, 3, K] of a shape with moments. Shapes with messages are those of
// layered_reference.h.
at::Tensor ReferenceSumsOfAtoms(const NetworkShape& shape, const at::Tensor& parameters, const Tensor& x,
                                const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                                const EagerOptions& eager = {});
at::Tensor ReferenceSumsOfAtoms(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                                const EagerOptions& eager = {});
at::Tensor ReferenceEnergiesOfAtoms(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                    absl::Span<const uint8_t> species, const EagerOptions& eager = {},
                                    at::Tensor* invariants = nullptr, at::Tensor* vectors = nullptr);

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_MANY_BODY_REFERENCE_H_
