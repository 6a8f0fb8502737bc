// Descriptors with several angular sets (ChebyshevOptions::nearer): that of the largest cutoffs and, for each further
// set, one of its own, whose columns are put behind.

#ifndef RUTILE_LIB_DESCRIPTOR_NEARER_SETS_H_
#define RUTILE_LIB_DESCRIPTOR_NEARER_SETS_H_

#include <memory>
#include <vector>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"
#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// parts: of options.Outermost(), then of each options.Nearer(k). options.nearer is not empty.
std::unique_ptr<const Descriptor> MakeDescriptorOfSets(const ChebyshevOptions& options,
                                                       std::vector<std::unique_ptr<const Descriptor>> parts);

// The same with derivatives; T is float or double. A list of triplets (StructureGeometry::triplets) is of the largest
// angular cutoff; nearer sets find theirs in the pairs.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDerivativesOfSets(
    const ChebyshevOptions& options, std::vector<std::unique_ptr<const DescriptorDerivatives<T>>> parts);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_NEARER_SETS_H_
