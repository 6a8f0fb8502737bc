#include "tools/common/structure_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "lib/base/file.h"
#include "lib/base/parallel_for.h"
#include "lib/base/status_macros.h"
#include "lib/structure/element.h"

DEFINE_string(energy_key, "",
              "Key of the energy (eV) in extended XYZ. Empty: energy, REF_energy, DFT_energy and so on.");
DEFINE_string(force_key, "",
              "Column of the forces (eV/Angstrom) in extended XYZ. Empty: forces, force, REF_forces and so on.");
DEFINE_string(
    stress_key, "",
    "Key of the stress (eV/Angstrom^3, positive in tension) in extended XYZ. Empty: stress, REF_stress and so on.");
DEFINE_string(
    virial_key, "",
    "Key of the virial (eV) in extended XYZ; stress = -virial / volume. Empty: virial, REF_virial and so on.");
DEFINE_string(runner_units, "",
              "angstrom_ev or bohr_hartree: the units of RuNNer and n2p2 input.data, which the files do not say.");
DEFINE_validator(runner_units, [](const char*, const std::string& value) {
  return value.empty() || value == "angstrom_ev" || value == "bohr_hartree";
});
DEFINE_int32(threads, 0, "Threads. 0: one for each processor that the process may use. Results do not depend on it.");
DEFINE_validator(threads, [](const char*, int32_t value) { return value >= 0 && value <= 1024; });

namespace rutile {

absl::StatusOr<StructureReaderOptions> StructureReaderOptionsFromFlags() {
  StructureReaderOptions options;
  options.energy_key = FLAGS_energy_key;
  options.force_key = FLAGS_force_key;
  options.stress_key = FLAGS_stress_key;
  options.virial_key = FLAGS_virial_key;
  if (FLAGS_runner_units == "angstrom_ev") options.runner_units = RunnerUnits::kAngstromEv;
  if (FLAGS_runner_units == "bohr_hartree") options.runner_units = RunnerUnits::kBohrHartree;
  return options;
}

absl::StatusOr<std::map<uint8_t, double>> ParseAtomicEnergies(absl::string_view text) {
  std::map<uint8_t, double> energies;
  if (text.empty()) return energies;
  std::string content(text);
  std::string where = "--atomic_energies";
  if (!absl::StrContains(text, '=')) {
    ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(text));
    content = std::string(file.data());
    where = std::string(text);
  }
  std::vector<std::string> entries;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    for (const absl::string_view entry : absl::StrSplit(line.substr(0, line.find('#')), ',')) {
      entries.push_back(absl::StrReplaceAll(entry, {{"=", " "}, {":", " "}, {"\t", " "}, {"\r", " "}}));
    }
  }
  for (const std::string& entry : entries) {
    const std::vector<std::string> words = absl::StrSplit(entry, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    double energy = 0;
    const uint8_t element = AtomicNumber(words[0]);
    if (words.size() != 2 || element == 0 || !absl::SimpleAtod(words[1], &energy) || !std::isfinite(energy)) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": \"", entry, "\" is not an element and its energy in eV; expected as in Ti=-1604.6,O=-432.5"));
    }
    if (!energies.emplace(element, energy).second) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": ", words[0], " is given twice"));
    }
  }
  if (energies.empty()) return absl::InvalidArgumentError(absl::StrCat(where, ": no element and energy in it"));
  return energies;
}

int ThreadsFromFlags() { return FLAGS_threads > 0 ? FLAGS_threads : AvailableProcessors(); }

}  // namespace rutile
