// Derivatives of aenet's Chebyshev descriptor in code written for reading. The fast kernels are tested against it.
//
// Source: the formulas of chebyshev.h, differentiated. With r_ij = r u and f = f_c: a radial term T_n(x) f changes by
// (T_n' dx/dr f + T_n f') u. An angular term is T_n(c) f_j f_k with c = u_j . u_k, where dc/dr_j = (u_k - c u_j) / r_j.

#ifndef RUTILE_LIB_DESCRIPTOR_REFERENCE_DERIVATIVES_H_
#define RUTILE_LIB_DESCRIPTOR_REFERENCE_DERIVATIVES_H_

#include <memory>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// Returns an implementation by sums over pairs and triplets in fp64, O(neighbors^2). T is only the type of the arrays.
// Options must be valid.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeReferenceDerivatives(const ChebyshevOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_REFERENCE_DERIVATIVES_H_
