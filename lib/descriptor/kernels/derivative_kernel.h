// The SIMD kernels of DescriptorDerivatives, on interleaved neighbors: scalar, SSE4, AVX2 or AVX-512, chosen at run
// time. Vectors are 32 bytes wide even with AVX-512: small structures fill them better, and vectors of half the width
// issue twice as fast.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_DERIVATIVE_KERNEL_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_DERIVATIVE_KERNEL_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"

namespace rutile {

// These implement the methods of DescriptorDerivatives of the same names, without checks of lengths. A product must run
// on the instruction set that Features ran on; otherwise it CHECK-fails. atom_strain: [N, 9], overwritten, as of
// VjpByAtom; or null. It is only allowed with a strain_gradient.
template <typename T>
void InterleavedFeatures(const ChebyshevTables<T>& tables, const StructureGeometry& geometry,
                         InterleavedNeighbors<T>* state, T* features);
template <typename T>
void InterleavedVjp(const ChebyshevTables<T>& tables, InterleavedNeighbors<T>* state, const T* slopes,
                    absl::Span<const uint8_t> sampled, T* force, double* strain_gradient, double* atom_strain);
template <typename T>
void InterleavedJvp(const ChebyshevTables<T>& tables, InterleavedNeighbors<T>* state, const T* direction,
                    absl::Span<const uint8_t> sampled, const double* strain, T* tangents);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_DERIVATIVE_KERNEL_H_
