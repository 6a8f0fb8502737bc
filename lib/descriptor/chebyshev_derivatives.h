// DescriptorDerivatives of aenet's Chebyshev descriptor, fast.

#ifndef RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DERIVATIVES_H_
#define RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DERIVATIVES_H_

#include <memory>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// Equals MakeReferenceDerivatives to rounding (1e-11 of the largest value in fp64). T is float or double; positions
// become vectors in fp64 in either. Options must be valid. Results depend on the instruction set in the last digits,
// and on nothing else. Every product costs O(neighbors) with kMoments, O(neighbors^2) with kTriplets, which runs over
// StructureGeometry::triplets where they are given, else over pairs of neighbors as they lie.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeChebyshevDerivatives(const ChebyshevOptions& options,
                                                                         AngularMethod method);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DERIVATIVES_H_
