// Derivatives of moments in code written for reading. The fast kernels are tested against it.
//
// Source: the formulas of moment_options.h, differentiated. With r_ij = r u, a term phi(r) Y(u) changes by
//   (phi' Y u + phi/r grad Y) . d(r_ij),   where grad Y is orthogonal to u (moment_harmonics.h).

#ifndef RUTILE_LIB_DESCRIPTOR_MOMENT_REFERENCE_H_
#define RUTILE_LIB_DESCRIPTOR_MOMENT_REFERENCE_H_

#include <memory>

#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/moment_options.h"

namespace rutile {

// Returns an implementation by sums over pairs in fp64. T is only the type of the arrays. As the features turn with the
// structure, the strain gradient is symmetric only where the energy is an invariant. Options must be valid.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeMomentReference(const MomentOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MOMENT_REFERENCE_H_
