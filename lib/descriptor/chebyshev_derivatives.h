// Computes features and their derivatives for aenet's Chebyshev descriptor with the fast kernels.

#ifndef RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DERIVATIVES_H_
#define RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DERIVATIVES_H_

#include <memory>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// Returns an implementation that equals MakeReferenceDerivatives to rounding (1e-11 of the largest value in fp64). T is
// float or double; r_ij is computed from positions in fp64 in either case. Options must be valid. Apart from the last
// digits, which depend on the instruction set, results are the same on every machine. Each product costs O(neighbors)
// with kMoments and O(neighbors^2) with kTriplets, which runs over StructureGeometry::triplets if they are given, else
// over all pairs of neighbors.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeChebyshevDerivatives(const ChebyshevOptions& options,
                                                                         AngularMethod method);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_CHEBYSHEV_DERIVATIVES_H_
