// Computes moments and their derivatives with the fast kernels.

#ifndef RUTILE_LIB_DESCRIPTOR_MOMENT_DERIVATIVES_H_
#define RUTILE_LIB_DESCRIPTOR_MOMENT_DERIVATIVES_H_

#include <memory>

#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/moment_options.h"

namespace rutile {

// Returns an implementation that equals MakeMomentReference to rounding: to 1e-12 of the largest value in fp64 and 2e-5
// in fp32. T is float or double; r_ij is computed from positions in fp64 in either case. Options must be valid. Apart
// from the last digits, which depend on the instruction set, results are the same on every machine. Products with
// `sampled` compute all atoms. The strain gradient is symmetric only where the energy is an invariant.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeMomentDerivatives(const MomentOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MOMENT_DERIVATIVES_H_
