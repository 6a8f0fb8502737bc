// The energies of structures in LibTorch operations: short, differentiable, and the definition of what the kernel of
// lib/potential/energy_kernel.h computes.

#ifndef RUTILE_LIB_POTENTIAL_NETWORK_REFERENCE_H_
#define RUTILE_LIB_POTENTIAL_NETWORK_REFERENCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/potential/network_shape.h"

namespace at {
class Tensor;
}

namespace rutile {

// [num_structures] fp64: E_s = sum over atoms a of structure s of network_{species(a)}(x_a), in the networks' units.
// parameters: flat [num_parameters], F32 or F64. x: [A, F], taken in the parameters' type. species_offset:
// [num_species + 1], rows of species s are [offset[s], offset[s + 1]). structure: [A] integers.
at::Tensor NetworkSums(const NetworkShape& shape, const at::Tensor& parameters, const at::Tensor& x,
                       absl::Span<const int64_t> species_offset, const at::Tensor& structure, int64_t num_structures);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_NETWORK_REFERENCE_H_
