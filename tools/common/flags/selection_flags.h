// Flags on what is taken from the structures that are read, shared by every tool that makes data of them.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_SELECTION_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_SELECTION_FLAGS_H_

#include <optional>
#include <string>

namespace rutile {

struct Selection {
  std::optional<std::string> config_key, weight_key;  // none: the flag is not given
  double max_energy, max_forces;                      // eV per atom less the atomic energies, eV/Angstrom; may be inf
};

// From --config_key, --weight_key, --max_energy, --max_forces.
Selection SelectionFromFlags();

inline constexpr char kDefaultConfigKey[] = "config_type";

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_SELECTION_FLAGS_H_
