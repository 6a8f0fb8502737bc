#include "tools/train/flags/isolated_atoms.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/enum_names.h"
#include "lib/base/status_macros.h"
#include "lib/potential/data/isolated_atoms.h"
#include "lib/structure/element.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

// What becomes of structures of one isolated atom.
enum class Treatment { kAuto, kLearn, kIgnore };
constexpr absl::string_view kTreatmentWords[] = {"auto", "learn", "ignore"};
constexpr EnumNames<Treatment> kTreatmentNames("isolated atoms cannot be treated by", kTreatmentWords);

}  // namespace
}  // namespace rutile

using rutile::kTreatmentNames;

DEFINE_string(
    isolated_atoms, "auto",
    "What to do with structures of one isolated atom: auto, learn or ignore. They are isolated if their "
    "config type is IsolatedAtom or no neighbor is within the cutoff. With auto their energies are the atomic "
    "energies, unless others are given, and they are left out; ignore leaves them out; learn takes them for "
    "examples like all others.");
DEFINE_validator(isolated_atoms,
                 [](const char*, const std::string& value) { return kTreatmentNames.Parse(value).ok(); });

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

// An element's isolated atoms.
struct Atom {
  double lowest = 0, highest = 0;  // eV
  int64_t count = 0;
};

std::map<uint8_t, Atom> AtomsOf(const AtomicData& data, const std::vector<bool>& isolated,
                                const std::vector<bool>& held_out) {
  std::map<uint8_t, Atom> atoms;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    // What has weight 0 must not influence anything.
    if (!isolated[s] || !data.has_energy(s) || data.weight(s) == 0) continue;
    if (!held_out.empty() && held_out[s]) continue;
    const double energy = data.energy(s);
    Atom& atom = atoms[data.descriptor().species()[data.species(s)[0]]];
    atom.lowest = atom.count == 0 ? energy : std::min(atom.lowest, energy);
    atom.highest = atom.count == 0 ? energy : std::max(atom.highest, energy);
    ++atom.count;
  }
  return atoms;
}

std::string SymbolsOf(const std::vector<uint8_t>& elements) {
  return absl::StrJoin(elements, ", ",
                       [](std::string* out, uint8_t element) { absl::StrAppend(out, ElementSymbol(element)); });
}

// Adds the energies of `atoms` for elements that have none, and says so, or says why not.
void AddAtomicEnergies(const AtomicData& data, const std::map<uint8_t, Atom>& atoms, const std::set<uint8_t>& of_model,
                       const std::string& left_out, std::map<uint8_t, double>* atomic_energies) {
  const absl::string_view given = atomic_energies->empty() ? "recorded in the data" : "of --atomic_energies";
  const bool any_given = !atomic_energies->empty() || !data.atomic_energies().empty();
  std::string text;
  std::vector<uint8_t> kept, fitted;
  bool all_given = true;
  for (const uint8_t element : data.descriptor().species()) {
    if (atomic_energies->count(element) > 0 || data.atomic_energies().count(element) > 0) continue;
    all_given = false;
    const auto found = atoms.find(element);
    if (found == atoms.end()) {
      (of_model.count(element) > 0 ? kept : fitted).push_back(element);
      continue;
    }
    const Atom& atom = found->second;
    absl::StrAppend(&text, text.empty() ? "" : ", ", ElementSymbol(element), " ", atom.lowest, " eV");
    (*atomic_energies)[element] = atom.lowest;
    if (atom.lowest == atom.highest) continue;
    PrintWarning(absl::StrCat(atom.count, " isolated atoms of ", ElementSymbol(element), " have energies from ",
                              atom.lowest, " to ", atom.highest,
                              " eV: the lowest is its atomic energy; give another by --atomic_energies"));
  }
  if (all_given) {
    return PrintMessage(absl::StrCat(left_out, "; the atomic energies are those ", given, ", not theirs"));
  }
  const bool one = absl::StartsWith(left_out, "1 ");
  std::string said = left_out;
  if (!text.empty()) absl::StrAppend(&said, one ? " and gives" : " and give", " the atomic energies: ", text);
  if (any_given) absl::StrAppend(&said, "; others are ", given);
  if (!kept.empty()) absl::StrAppend(&said, "; kept are those of ", SymbolsOf(kept));
  if (fitted.empty()) return PrintMessage(said);
  PrintWarning(absl::StrCat(said, "; none is an atom of ", SymbolsOf(fitted),
                            " with an energy: the atomic energies are fitted where none are found. Give those of all "
                            "elements as --atomic_energies, or learn these structures by --isolated_atoms=learn"));
}

// Returns what the run that goes on recorded of an option, "" if it recorded nothing or no run goes on.
std::string RecordedBy(const std::optional<CheckpointSummary>& resumed, const char* option) {
  if (!resumed.has_value()) return "";
  const auto found = resumed->task.find(option);
  return found == resumed->task.end() ? "" : found->second;
}

}  // namespace

absl::StatusOr<IsolatedAtoms> IsolatedAtomsFromFlags(const AtomicData& data, const std::vector<bool>& held_out,
                                                     const std::set<uint8_t>& of_model,
                                                     const std::optional<CheckpointSummary>& resumed,
                                                     std::map<uint8_t, double>* atomic_energies) {
  std::vector<bool> isolated(data.num_structures(), false);
  int64_t count = 0;
  bool larger = false;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    ASSIGN_OR_RETURN(const bool found, IsIsolated(data, s));
    isolated[s] = found;
    count += found;
    larger = larger || data.num_atoms(s) > 1;
  }
  if (count > 0 && !larger && data.num_filtered() > 0) {
    return absl::InvalidArgumentError(absl::StrCat("no structure is left but isolated atoms: ", data.num_filtered(),
                                                   " others are left out by ", data.filters()));
  }
  const std::string recorded = RecordedBy(resumed, "isolated_atoms");
  if (count == 0 && !recorded.empty() && (!FlagGiven("isolated_atoms") || FLAGS_isolated_atoms == recorded)) {
    return IsolatedAtoms{{}, /*learned=*/false, recorded};
  }
  if (count == 0 || !larger) {
    if (!FlagGiven("isolated_atoms")) return IsolatedAtoms{{}, /*learned=*/count > 0, ""};
    return absl::InvalidArgumentError(
        absl::StrCat("--isolated_atoms=", FLAGS_isolated_atoms, " has no effect: of ", data.num_structures(),
                     " structures, none is an isolated atom beside larger structures; leave out the flag"));
  }
  ASSIGN_OR_RETURN(const Treatment treatment, kTreatmentNames.Parse(FLAGS_isolated_atoms));
  if (treatment == Treatment::kLearn) return IsolatedAtoms{{}, /*learned=*/true, ""};
  const std::string left_out = absl::StrCat(count, count == 1 ? " structure is an isolated atom and is left out"
                                                              : " structures are isolated atoms and are left out");
  if (treatment == Treatment::kAuto) {
    AddAtomicEnergies(data, AtomsOf(data, isolated, held_out), of_model, left_out, atomic_energies);
  } else {
    PrintMessage(left_out);
  }
  return IsolatedAtoms{std::move(isolated), /*learned=*/false, std::string(kTreatmentNames.Name(treatment))};
}

}  // namespace rutile
