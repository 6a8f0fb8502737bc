// Flags on how structures are read, shared by every tool that reads them.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// From --energy_key, --force_key, --stress_key, --virial_key, --runner_units.
absl::StatusOr<StructureReaderOptions> StructureReaderOptionsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_FLAGS_H_
