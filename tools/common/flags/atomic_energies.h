// Atomic reference energies as users give them.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_ATOMIC_ENERGIES_H_
#define RUTILE_TOOLS_COMMON_FLAGS_ATOMIC_ENERGIES_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// "Ti=-1604.6,O=-432.5" or the path of a file with a line "Ti -1604.6" for each element (# comments): eV by atomic
// number. Empty text: empty map.
absl::StatusOr<std::map<uint8_t, double>> ParseAtomicEnergies(absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_ATOMIC_ENERGIES_H_
