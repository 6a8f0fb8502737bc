#include "tools/common/flags/selection_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <limits>

#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(config_key, "config_type",
              "Key whose value assigns a frame to a group. Splits and errors by group use it.");
DEFINE_string(weight_key, "",
              "Key whose value, 0 or more, is the training weight of a frame. Frames without it weigh 1. Files of "
              "features and neighbors record these weights, which then count without the flag.");
DEFINE_double(max_energy, std::numeric_limits<double>::infinity(),
              "Leave out structures above this energy, in eV per atom. Atomic energies, where they are given, are "
              "subtracted first. Atoms of config type IsolatedAtom stay: they give atomic energies.");
DEFINE_validator(max_energy, [](const char*, double value) { return !std::isnan(value); });
DEFINE_double(max_forces, std::numeric_limits<double>::infinity(),
              "Leave out structures with a larger force component, in eV/Angstrom. The limit must be 0 or more.");
DEFINE_validator(max_forces, [](const char*, double value) { return value >= 0; });

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

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
