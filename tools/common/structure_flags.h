// Flags on how structures are read, shared by every tool that reads them.

#ifndef RUTILE_TOOLS_COMMON_STRUCTURE_FLAGS_H_
#define RUTILE_TOOLS_COMMON_STRUCTURE_FLAGS_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// From --energy_key, --force_key, --stress_key, --virial_key, --runner_units.
absl::StatusOr<StructureReaderOptions> StructureReaderOptionsFromFlags();

// "Ti=-1604.6,O=-432.5" or the path of a file with a line "Ti -1604.6" for each element (# comments): eV by atomic
// number. Empty text: empty map. Also used for train's flag of the same name.
absl::StatusOr<std::map<uint8_t, double>> ParseAtomicEnergies(absl::string_view text);

// How many threads --threads asks for: 0 is all processors that the process may use.
int ThreadsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_STRUCTURE_FLAGS_H_
