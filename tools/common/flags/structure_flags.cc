#include "tools/common/flags/structure_flags.h"

#include <gflags/gflags.h>

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/enum_names.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/provenance.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// What users write.
constexpr absl::string_view kRunnerUnitsWords[] = {"", "angstrom_ev", "bohr_hartree"};
constexpr EnumNames<RunnerUnits> kRunnerUnitsNames("RuNNer's files cannot be in", kRunnerUnitsWords);
constexpr absl::string_view kXsfForcesWords[] = {"auto", "eV", "Hartree"};
constexpr EnumNames<XsfForces> kXsfForcesNames("forces of XSF files cannot be in", kXsfForcesWords);

}  // namespace
}  // namespace rutile

using rutile::kRunnerUnitsNames;
using rutile::kXsfForcesNames;

DEFINE_string(energy_key, "",
              "Key of the energy in extended XYZ, in eV. If empty, the usual keys are tried (REF_energy, "
              "DFT_energy, energy and so on); two of them with different values in one frame cause a warning.");
DEFINE_string(force_key, "",
              "Column of the forces in extended XYZ, in eV/Angstrom. If empty, the usual names are tried (REF_forces, "
              "DFT_forces, forces and so on).");
DEFINE_string(stress_key, "",
              "Key of the stress in extended XYZ, in eV/Angstrom^3 and positive in tension. If empty, the usual keys "
              "are tried (REF_stress, stress and so on).");
DEFINE_string(virial_key, "",
              "Key of the virial in extended XYZ, in eV; the stress is -virial / volume. If given, it takes precedence "
              "over a stress that no flag names. If empty, the usual keys are tried (REF_virial, virial and so on).");
DEFINE_string(
    runner_units, "",
    "Units of input.data of RuNNer and n2p2: angstrom_ev or bohr_hartree. The files do not state their units.");
DEFINE_validator(runner_units,
                 [](const char*, const std::string& value) { return kRunnerUnitsNames.Parse(value).ok(); });
DEFINE_string(
    xsf_forces, "auto",
    "Unit of the forces of XSF files, which do not state it: auto, eV (per Angstrom, as in aenet's files) or Hartree "
    "(per Angstrom, the format's own unit, as in XCrySDen's and ASE's). With auto it is Hartree, with a warning, where "
    "elements are atomic numbers, which aenet does not write.");
DEFINE_validator(xsf_forces, [](const char*, const std::string& value) { return kXsfForcesNames.Parse(value).ok(); });

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

// A few files stand for all.
constexpr int kWarnings = 5;

void WarnOfFile(const std::string& what) {
  static std::atomic<int> warnings = 0;
  const int before = warnings++;
  if (before < kWarnings) PrintWarning(what);
  if (before == kWarnings) PrintWarning("and there is more of this kind, in files that are not named here");
}

}  // namespace

absl::StatusOr<StructureReaderOptions> StructureReaderOptionsFromFlags() {
  StructureReaderOptions options;
  options.energy_key = FLAGS_energy_key;
  options.force_key = FLAGS_force_key;
  options.stress_key = FLAGS_stress_key;
  options.virial_key = FLAGS_virial_key;
  ASSIGN_OR_RETURN(options.runner_units, kRunnerUnitsNames.Parse(FLAGS_runner_units));
  ASSIGN_OR_RETURN(options.xsf_forces, kXsfForcesNames.Parse(FLAGS_xsf_forces));
  options.on_warning = WarnOfFile;
  return options;
}

LabelKeys LabelKeysFromFlags() {
  LabelKeys keys;
  for (const std::string& name : StructureReaderFlagNames()) {
    const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
    if (flag.current_value != flag.default_value) keys[name] = flag.current_value;
  }
  return keys;
}

std::string LabelKeysText(const LabelKeys& keys, absl::string_view none) {
  if (keys.empty()) return std::string(none);
  return absl::StrJoin(keys, " ", [](std::string* out, const LabelKeys::value_type& key) {
    absl::StrAppend(out, "--", key.first, "=", key.second);
  });
}

std::string TakeRecordedLabels(const LabelKeys& recorded, StructureReaderOptions* options) {
  const bool stress_given = FlagGiven("stress_key") || FlagGiven("virial_key");
  std::string taken;
  const auto take = [&](const char* name, bool given) {
    const auto found = recorded.find(name);
    if (given || found == recorded.end()) return std::string();
    absl::StrAppend(&taken, taken.empty() ? "" : " ", ShellCommand({absl::StrCat("--", name, "=", found->second)}));
    return found->second;
  };
  options->recorded.energy = take("energy_key", FlagGiven("energy_key"));
  options->recorded.force = take("force_key", FlagGiven("force_key"));
  options->recorded.stress = take("stress_key", stress_given);
  options->recorded.virial = take("virial_key", stress_given);
  // Units are of a file, not of a model: those of the training set say nothing of another one.
  return taken;
}

std::vector<std::string> StructureReaderFlagNames() { return FlagsOfSource(__FILE__); }

absl::Status RefuseStructureReaderFlags(absl::string_view why) { return RefuseFlagsOfSource(__FILE__, why); }

}  // namespace rutile
