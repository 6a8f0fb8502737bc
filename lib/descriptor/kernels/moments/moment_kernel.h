// The SIMD kernels of MomentDerivatives. A lane is a neighbor where functions of a neighbor are computed and where
// slopes are summed, and a harmonic where features are summed.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_KERNEL_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_KERNEL_H_

#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/kernels/moments/moment_tables.h"

namespace rutile {

// Sorts neighbors by species into `state` and computes features: [N, F].
template <typename T>
void MomentFeatures(const MomentTables<T>& tables, const StructureGeometry& geometry, MomentNeighbors<T>* state,
                    T* features);

// As DescriptorDerivatives::Vjp. slopes: [N, F]; force: [3N]; strain_gradient: [9] or null; atom_strain: [N, 9], as of
// VjpByAtom, or null, only allowed with a strain_gradient. CHECK-fails if Features ran on another instruction set.
template <typename T>
void MomentVjp(const MomentTables<T>& tables, MomentNeighbors<T>* state, const T* slopes, T* force,
               double* strain_gradient, double* atom_strain);

// As DescriptorDerivatives::Jvp. direction: [3N]; strain: [9] or null; tangents: [N, F].
template <typename T>
void MomentJvp(const MomentTables<T>& tables, MomentNeighbors<T>* state, const T* direction, const double* strain,
               T* tangents);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_KERNEL_H_
