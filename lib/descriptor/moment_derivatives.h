// DescriptorDerivatives of aenet's Chebyshev descriptor in moment form: every product costs O(neighbours).

#ifndef RUTILE_LIB_DESCRIPTOR_MOMENT_DERIVATIVES_H_
#define RUTILE_LIB_DESCRIPTOR_MOMENT_DERIVATIVES_H_

#include <memory>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// Equals MakeReferenceDerivatives to rounding (1e-11 of the largest value in fp64). T is float or double; positions
// become vectors in fp64 in either. Options must be valid. Results depend on the instruction set in the last digits,
// and on nothing else.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeMomentDerivatives(const ChebyshevOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MOMENT_DERIVATIVES_H_
