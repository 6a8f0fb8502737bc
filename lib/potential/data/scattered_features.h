// Reading the features of structures in random order from mapped files that do not fit into memory.

#ifndef RUTILE_LIB_POTENTIAL_DATA_SCATTERED_FEATURES_H_
#define RUTILE_LIB_POTENTIAL_DATA_SCATTERED_FEATURES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"

namespace rutile {

// Returns true if the features take more than half of `memory` bytes. They are then read from disk again in every
// epoch.
bool FeaturesExceed(const AtomicData& data, int64_t memory);

// Turns off read-ahead for the features of all structures, after the last pass that takes them in their order. A page
// fault would otherwise read what the device reads ahead, up to megabytes, for a structure of kilobytes.
void AdviseScatteredFeatures(const AtomicData& data);

// Starts reading the features of these structures, without waiting for them.
void PrefetchFeatures(const AtomicData& data, absl::Span<const int64_t> structures);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_SCATTERED_FEATURES_H_
