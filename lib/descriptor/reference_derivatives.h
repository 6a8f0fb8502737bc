// Derivatives of aenet's Chebyshev descriptor, written for reading: what the fast kernels are tested against.
//
// Source: the formulas of chebyshev.h differentiated. With r_ij = r u and f = f_c: radial, T_n(x) f changes by
// (T_n' dx/dr f + T_n f') u. Angular, T_n(c) f_j f_k with c = u_j . u_k, where dc/dr_j = (u_k - c u_j) / r_j.

#ifndef RUTILE_LIB_DESCRIPTOR_REFERENCE_DERIVATIVES_H_
#define RUTILE_LIB_DESCRIPTOR_REFERENCE_DERIVATIVES_H_

#include <memory>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// Sums over pairs and triplets in fp64, O(neighbors^2); T is the type of the arrays alone. Options must be valid.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeReferenceDerivatives(const ChebyshevOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_REFERENCE_DERIVATIVES_H_
