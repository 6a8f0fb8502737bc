// The geometry of a structure of the data, its neighbors found now where none are cached.

#ifndef RUTILE_LIB_POTENTIAL_DATA_GEOMETRY_H_
#define RUTILE_LIB_POTENTIAL_DATA_GEOMETRY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/potential/data/atomic_data.h"

namespace rutile {

// Memory for pairs that are found now, to be reused.
struct PairMemory {
  std::vector<int64_t> offset;
  std::vector<int32_t> j;
  std::vector<int16_t> shift;
};

// Valid as long as the data, and until the next use of `memory`. Errors of AtomicData::FindPairs.
absl::StatusOr<StructureGeometry> GeometryOf(const AtomicData& data, int64_t s, PairMemory* memory);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_GEOMETRY_H_
