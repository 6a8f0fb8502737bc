// Descriptors with several angular sets (ChebyshevOptions::nearer). They consist of one descriptor for the largest
// cutoffs and one for each further set, whose angular columns are appended.

#ifndef RUTILE_LIB_DESCRIPTOR_NEARER_SETS_H_
#define RUTILE_LIB_DESCRIPTOR_NEARER_SETS_H_

#include <memory>
#include <vector>

#include "lib/descriptor/chebyshev_options.h"
#include "lib/descriptor/descriptor.h"
#include "lib/descriptor/descriptor_derivatives.h"

namespace rutile {

// Combines parts into one descriptor. parts: one for options.Outermost(), then one for each options.Nearer(k).
// options.nearer must not be empty.
std::unique_ptr<const Descriptor> MakeDescriptorOfSets(const ChebyshevOptions& options,
                                                       std::vector<std::unique_ptr<const Descriptor>> parts);

// Combines parts with derivatives; T is float or double. A list of triplets (StructureGeometry::triplets) applies to
// the largest angular cutoff; nearer sets find their triplets from the pairs.
template <typename T>
std::unique_ptr<const DescriptorDerivatives<T>> MakeDerivativesOfSets(
    const ChebyshevOptions& options, std::vector<std::unique_ptr<const DescriptorDerivatives<T>>> parts);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_NEARER_SETS_H_
