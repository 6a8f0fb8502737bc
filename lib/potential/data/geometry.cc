#include "lib/potential/data/geometry.h"

#include "lib/base/status_macros.h"

namespace rutile {

absl::StatusOr<StructureGeometry> GeometryOf(const AtomicData& data, int64_t s, PairMemory* memory) {
  StructureGeometry geometry;
  geometry.species = data.species(s);
  geometry.position = data.position(s);
  geometry.cell = data.cell(s);
  if (data.has_pairs()) {
    geometry.pairs = data.pairs(s);
    if (data.has_triplets()) geometry.triplets = data.triplets(s);
    return geometry;
  }
  RETURN_IF_ERROR(data.FindPairs(s, &memory->offset, &memory->j, &memory->shift));
  geometry.pairs = {memory->offset, memory->j.data(), memory->shift.data(), 0};
  return geometry;
}

}  // namespace rutile
