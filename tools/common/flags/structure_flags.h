// Flags on how structures are read, shared by every tool that reads them.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/structure/label_keys.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

// From --energy_key, --force_key, --stress_key, --virial_key, --runner_units, --xsf_forces.
absl::StatusOr<StructureReaderOptions> StructureReaderOptionsFromFlags();

// Those of these flags that do not have their defaults.
LabelKeys LabelKeysFromFlags();

// "--energy_key=E --force_key=F"; without keys, `none`.
std::string LabelKeysText(const LabelKeys& keys, absl::string_view none);

// Makes recorded names the defaults for labels that no flag names: such a name is tried before the usual ones. Units,
// which are of a file and not of a model, are not taken. A stress or a virial that a flag names stands for both.
// Returns the flags that say the same, "" if nothing is taken.
std::string TakeRecordedLabels(const LabelKeys& recorded, StructureReaderOptions* options);

// The names of these flags.
std::vector<std::string> StructureReaderFlagNames();

// INVALID_ARGUMENT if one of these flags was given, which say how structures are read. `why`: "on files that were made
// from structures".
absl::Status RefuseStructureReaderFlags(absl::string_view why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_FLAGS_H_
