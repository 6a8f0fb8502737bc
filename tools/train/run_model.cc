#include "tools/train/run_model.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/potential/model/labels/learned_labels.h"
#include "lib/potential/model/model_frame.h"
#include "lib/potential/model/zbl_options.h"
#include "lib/structure/element.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/checkpoint_series.h"
#include "tools/common/run/run_tool.h"
#include "tools/train/data/atomic_energies.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {
namespace {

// Energies as the tasks see them, which are less the repulsion.
absl::StatusOr<CompositionEnergies> EnergiesOf(const AtomicData& given, absl::Span<const int64_t> train,
                                               const AtomisticTaskOptions& options) {
  ASSIGN_OR_RETURN(const RepulsionRadii radii, RadiiOf(options.zbl, given.descriptor()));
  ASSIGN_OR_RETURN(const AtomicData data, LearnedLabels(given, radii, options.num_threads));
  const size_t num_species = data.descriptor().species().size();
  CompositionEnergies known;
  for (const int64_t s : train) {
    if (!data.has_energy(s) || data.weight(s) == 0) continue;
    known.energies.push_back(data.energy(s));
    known.weights.push_back(data.weight(s));
    const size_t first = known.counts.size();
    known.counts.resize(first + num_species, 0);
    for (const uint8_t index : data.species(s)) ++known.counts[first + index];
  }
  return known;
}

BaseEnergies BaseEnergiesOf(const Potential& model) {
  BaseEnergies base;
  const std::vector<uint8_t>& species = model.descriptor.species();
  for (size_t s = 0; s < species.size(); ++s) base.atomic[species[s]] = model.atomic_energies[s];
  base.shift = model.energy_scaling.shift;
  return base;
}

void TellOrigins(const std::vector<uint8_t>& species, const AtomicEnergies& chosen) {
  std::vector<std::string> texts;
  for (size_t s = 0; s < species.size(); ++s) {
    if (chosen.origin[s] == AtomicEnergyOrigin::kGiven) continue;
    texts.push_back(
        absl::StrCat(ElementSymbol(species[s]), " ", Decimal(chosen.values[s], 4), " eV, ",
                     chosen.origin[s] == AtomicEnergyOrigin::kFitted ? "fitted beside the others" : "of the model"));
  }
  if (!texts.empty()) PrintMessage(absl::StrCat("atomic energies that are not given: ", absl::StrJoin(texts, "; ")));
}

void TellUndetermined(const std::vector<uint8_t>& species, const AtomicEnergies& chosen) {
  std::vector<std::string> open;
  for (size_t s = 0; s < species.size(); ++s) {
    if (!chosen.determined[s]) open.emplace_back(ElementSymbol(species[s]));
  }
  if (open.empty()) return;
  PrintWarning(absl::StrCat(
      "the compositions of the training structures do not determine the atomic energies of ", absl::StrJoin(open, ", "),
      ", which are those of least norm: predictions for such compositions do not depend on them, but atomization "
      "energies and other compositions do. Give them by --atomic_energies, or add isolated atoms to the data"));
}

}  // namespace

std::optional<Potential> ModelOfRun(const std::string& directory, const TrainerOptions& options) {
  const std::optional<CheckpointSummary> checkpoint = CheckpointOfRun(directory, options);
  if (!checkpoint.has_value()) return std::nullopt;
  const absl::StatusOr<ModelFrame> frame = ReadCheckpointFrame(checkpoint->path);
  if (!frame.ok() || frame->empty()) return std::nullopt;
  absl::StatusOr<Potential> model = PotentialOfFrame(*frame);
  if (model.ok()) return *std::move(model);
  return std::nullopt;
}

std::optional<std::map<uint8_t, double>> RecordedAtomicEnergies(const std::string& directory,
                                                                const TrainerOptions& options) {
  if (std::count(options.overrides.begin(), options.overrides.end(), "atomic_energies") > 0) return std::nullopt;
  const std::optional<CheckpointSummary> checkpoint = CheckpointOfRun(directory, options);
  if (!checkpoint.has_value()) return std::nullopt;
  const auto recorded = checkpoint->task.find("atomic_energies");
  AtomisticTaskOptions then;
  for (const Setting<AtomisticTaskOptions>& row : AtomisticTaskSettings()) {
    if (recorded == checkpoint->task.end() || recorded->first != row.name) continue;
    // The trainer compares the record, and tells what is wrong with one that cannot be read.
    if (!row.Set(recorded->second, &then).ok()) then.atomic_energies.clear();
  }
  return std::move(then.atomic_energies);
}

std::set<uint8_t> ElementsWithEnergies(const std::optional<std::map<uint8_t, double>>& recorded,
                                       const std::optional<Potential>& model) {
  std::set<uint8_t> elements;
  if (recorded.has_value()) {
    for (const auto& [element, energy] : *recorded) elements.insert(element);
  } else if (model.has_value()) {
    elements.insert(model->descriptor.species().begin(), model->descriptor.species().end());
  }
  return elements;
}

absl::Status CompleteAtomicEnergies(const AtomicData& data, absl::Span<const int64_t> train, const Potential* model,
                                    const std::optional<std::map<uint8_t, double>>& recorded,
                                    AtomisticTaskOptions* options) {
  const std::vector<uint8_t>& species = data.descriptor().species();
  std::map<uint8_t, double> given = options->atomic_energies;
  given.insert(data.atomic_energies().begin(), data.atomic_energies().end());
  if (recorded.has_value()) given.insert(recorded->begin(), recorded->end());
  const bool all_given =
      std::all_of(species.begin(), species.end(), [&](uint8_t element) { return given.count(element) > 0; });
  // What the files record is not the run's own option, so that it stays theirs.
  const bool of_files = options->atomic_energies.empty() && given == data.atomic_energies();
  if (all_given) {
    if (!of_files) options->atomic_energies = std::move(given);
    return absl::OkStatus();
  }
  BaseEnergies base;
  if (model != nullptr && !recorded.has_value()) base = BaseEnergiesOf(*model);
  const auto is_known = [&](uint8_t element) { return given.count(element) > 0 || base.atomic.count(element) > 0; };
  if (std::none_of(species.begin(), species.end(), is_known)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const CompositionEnergies known, EnergiesOf(data, train, *options));
  const AtomicEnergies chosen = ChooseAtomicEnergies(species, given, base, known);
  TellUndetermined(species, chosen);
  TellOrigins(species, chosen);
  for (size_t s = 0; s < species.size(); ++s) given[species[s]] = chosen.values[s];
  options->atomic_energies = std::move(given);
  return absl::OkStatus();
}

}  // namespace rutile
