// Defines the networks with LibTorch's differentiable operations. NetworkKernel must agree with it.

#ifndef RUTILE_LIB_NETWORK_NETWORK_REFERENCE_H_
#define RUTILE_LIB_NETWORK_NETWORK_REFERENCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/network/network_shape.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// Returns the sums of network outputs over the atoms of each structure: [num_structures], fp64, differentiable in
// `parameters` (flat, a leaf or computed). x: [A, F] standardized, sorted by species; species_offset: i64 [species +
// 1], whose last element is A; structure: i32 [A]. x and structure may have more rows, which are not read. eager: how
// (operations or script) and in which type the networks run. All tensors are on the parameters' device.
at::Tensor ReferenceEnergySums(const NetworkShape& shape, const at::Tensor& parameters, const Tensor& x,
                               const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                               const EagerOptions& eager = {});
// The overload for x of the parameters' type is differentiable in x too, so that autograd gives d energy / d x and,
// with create_graph, the derivatives of what depends on it.
at::Tensor ReferenceEnergySums(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                               const Tensor& species_offset, const Tensor& structure, int64_t num_structures,
                               const EagerOptions& eager = {});

// Returns the network outputs of atoms in any order: [A], of the type of `parameters` and x, differentiable in both. x:
// [A, F] standardized, A >= 1; species: [A].
at::Tensor ReferenceAtomEnergies(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                                 absl::Span<const uint8_t> species, const EagerOptions& eager = {});

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_NETWORK_REFERENCE_H_
