#include "tools/common/flags/structure_flags.h"

#include <gflags/gflags.h>

#include <atomic>
#include <string>

#include "tools/common/run/flag_domain.h"
#include "tools/common/run/run_tool.h"

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
DEFINE_validator(runner_units, [](const char*, const std::string& value) {
  return value.empty() || value == "angstrom_ev" || value == "bohr_hartree";
});
DEFINE_string(
    xsf_forces, "auto",
    "Unit of the forces of XSF files, which do not state it: auto, eV (per Angstrom, as in aenet's files) or Hartree "
    "(per Angstrom, the format's own unit, as in XCrySDen's and ASE's). With auto it is Hartree, with a warning, where "
    "elements are atomic numbers, which aenet does not write.");
DEFINE_validator(xsf_forces, [](const char*, const std::string& value) {
  return value == "auto" || value == "eV" || value == "Hartree";
});

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
  if (FLAGS_runner_units == "angstrom_ev") options.runner_units = RunnerUnits::kAngstromEv;
  if (FLAGS_runner_units == "bohr_hartree") options.runner_units = RunnerUnits::kBohrHartree;
  if (FLAGS_xsf_forces == "eV") options.xsf_forces = XsfForces::kEv;
  if (FLAGS_xsf_forces == "Hartree") options.xsf_forces = XsfForces::kHartree;
  options.on_warning = WarnOfFile;
  return options;
}

std::vector<std::string> StructureReaderFlagNames() { return FlagsOfSource(__FILE__); }

absl::Status RefuseStructureReaderFlags(absl::string_view why) { return RefuseFlagsOfSource(__FILE__, why); }

}  // namespace rutile
