#include "tools/common/flags/selection_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <limits>

#include "tools/common/run/given_flags.h"

DEFINE_string(config_key, "config_type", "Key of a frame whose value groups it, for splits and errors by group.");
DEFINE_string(weight_key, "",
              "Key of a frame whose value, 0 or more, is its weight in training. Frames without it weigh 1.");
DEFINE_double(max_energy, std::numeric_limits<double>::infinity(),
              "Leave out structures with more energy than this, in eV per atom less the atomic energies.");
DEFINE_validator(max_energy, [](const char*, double value) { return !std::isnan(value); });
DEFINE_double(max_forces, std::numeric_limits<double>::infinity(),
              "Leave out structures with a force component larger than this, 0 or more, in eV/Angstrom.");
DEFINE_validator(max_forces, [](const char*, double value) { return value >= 0; });

namespace rutile {
namespace {

std::optional<std::string> IfGiven(const char* name, const std::string& value) {
  if (!FlagGiven(name)) return std::nullopt;
  return value;
}

}  // namespace

Selection SelectionFromFlags() {
  return {IfGiven("config_key", FLAGS_config_key), IfGiven("weight_key", FLAGS_weight_key), FLAGS_max_energy,
          FLAGS_max_forces};
}

}  // namespace rutile
