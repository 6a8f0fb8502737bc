// Returns the geometry of a structure of the data; neighbors that are not cached are found at once.

#ifndef RUTILE_LIB_POTENTIAL_DATA_GEOMETRY_H_
#define RUTILE_LIB_POTENTIAL_DATA_GEOMETRY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/potential/data/atomic_data.h"

namespace rutile {

// Reusable memory for pairs that are found by GeometryOf.
struct PairMemory {
  std::vector<int64_t> offset;
  std::vector<int32_t> j;
  std::vector<int16_t> shift;
};

// Returns the geometry of structure s, valid as long as the data and until the next use of `memory`. Errors of
// AtomicData::FindPairs.
absl::StatusOr<StructureGeometry> GeometryOf(const AtomicData& data, int64_t s, PairMemory* memory);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_GEOMETRY_H_
