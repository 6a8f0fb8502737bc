#include "tools/train/report/potential_outcome.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/decimal.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_tables.h"
#include "lib/file/file.h"
#include "lib/potential/data/structure_list.h"
#include "lib/potential/model/atomistic_model.h"
#include "lib/potential/model/labels/label_range.h"
#include "lib/potential/model/labels/moment_scaling.h"
#include "lib/potential/model/pair_repulsion.h"
#include "lib/potential/model/potential_file.h"
#include "lib/potential/prediction/predict_data.h"
#include "lib/structure/element.h"
#include "lib/train/files/run_directory.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/run_tool.h"

DEFINE_bool(
    save_energies, false,
    "Write the energy that the best model predicts for each structure. The files are energies-train.tsv and so on.");
DEFINE_bool(save_forces, false,
            "Write the forces that the best model predicts for each atom. The files are forces-train.tsv and so on.");

namespace rutile {
namespace {

const bool for_potentials = FlagsAreFor(FlagDomain::kPotentials, __FILE__);

using Sets = std::array<std::pair<const char*, const std::vector<int64_t>*>, 3>;

Sets SetsOf(const Split& split) {
  return {{{"train", &split.train}, {"validation", &split.validation}, {"test", &split.test}}};
}

std::vector<int64_t> WithEnergy(const AtomicData& data, absl::Span<const int64_t> structures) {
  std::vector<int64_t> found;
  std::copy_if(structures.begin(), structures.end(), std::back_inserter(found),
               [&](int64_t s) { return data.has_energy(s); });
  return found;
}

void WarnOfMissingEnergies(const AtomicData& data, absl::Span<const int64_t> train) {
  const size_t known = WithEnergy(data, train).size();
  if (known == train.size()) return;
  if (known > 0) {
    PrintWarning(absl::StrCat(train.size() - known, " of ", train.size(),
                              " training structures have no energy: their forces and stresses alone are learned"));
    return;
  }
  PrintWarning(
      "no training structure has an energy: forces and stresses alone are learned, so only differences of energies "
      "between structures of the same composition mean something");
}

// Warns of an outlier. If atomic energies were fitted, the targets are the residuals of that fit. Of raw structures,
// CheckSplit warns.
void WarnOfFitOutlier(const AtomicData& data, const AtomisticModel& model, absl::Span<const int64_t> train) {
  if (!model.atomic_energies_fitted() || data.from_structures()) return;
  const std::vector<int64_t> with_energy = WithEnergy(data, train);
  const std::optional<FitOutlier> found = FindFitOutlier(model.targets(), with_energy);
  if (!found.has_value()) return;
  const int64_t s = found->structure;
  const double expected = data.energy(s) - found->residual * static_cast<double>(data.num_atoms(s));
  PrintWarning(
      absl::StrCat(data.name(s), ": its energy, ", Decimal(data.energy(s), 4), " eV, is ",
                   Decimal(std::abs(found->residual), 1), " eV per atom ", found->residual > 0 ? "above" : "below",
                   " the ", Decimal(expected, 4), " eV that fitted atomic energies expect; ", found->beyond, " of ",
                   with_energy.size(), " structures are off by more than ", FitOutlier::kLimit,
                   ", half of them by more than ", Decimal(found->median, 1),
                   ". A mistake, or energies of two references? Leave it out (--max_energy, --config_weights), or give "
                   "--atomic_energies"));
}

void WarnOfEqualEnergies(const AtomisticModel& model, size_t num_structures) {
  if (!model.energies_are_equal()) return;
  PrintWarning(absl::StrCat("the energies per atom of the ", num_structures, " training structures, less ",
                            model.atomic_energies_fitted() ? "fitted " : "",
                            "atomic energies, are equal but for rounding: they are not scaled, and networks learn "
                            "nothing from them"));
}

void WarnOfUnseenPairs(const MomentOptions& options, const AtomisticModel& model, int center) {
  for (int neighbor = 0; neighbor < static_cast<int>(options.species.size()); ++neighbor) {
    if (!IsUnseenPair(options, model.feature_scaling(), center, neighbor)) continue;
    PrintWarning(absl::StrCat("no training atom of ", ElementSymbol(options.species[center]), " has a neighbor of ",
                              ElementSymbol(options.species[neighbor]), " within ", options.cutoff,
                              " Angstrom: the potential does not see such neighbors",
                              model.shape().has_messages() ? ", but for their messages" : ""));
  }
}

void WarnOfVanishingDegrees(const MomentOptions& options, const AtomisticModel& model, int center) {
  const std::vector<int> degrees = VanishingDegrees(options, model.feature_scaling(), center);
  if (degrees.empty()) return;
  PrintWarning(absl::StrCat("around all training atoms of ", ElementSymbol(options.species[center]),
                            ", the moments of degree ", absl::StrJoin(degrees, ", "),
                            " vanish, as in ideal crystals: the potential does not see them. Add structures with "
                            "displaced atoms, or do not use it for any"));
}

void WarnOfStressLeftOut(const AtomicData& data, const LossOptions& loss, const std::vector<int64_t>& train) {
  if (loss.stress_weight <= 0) return;
  const int64_t left_out = std::count_if(train.begin(), train.end(),
                                         [&](int64_t s) { return data.records_stress(s) && !data.has_stress(s); });
  if (left_out == 0) return;
  PrintWarning(absl::StrCat("the stress of ", left_out,
                            " training structures does not count: they are not periodic in three directions"));
}

}  // namespace

void PrintFacts(const AtomicData& data, const TrainingTask& task, const LossOptions& loss, const Split& split) {
  const std::vector<uint8_t>& species = data.descriptor().species();
  std::string energies;
  for (size_t s = 0; s < species.size(); ++s) {
    absl::StrAppend(&energies, " ", ElementSymbol(species[s]), " ", Decimal(task.model->atomic_energies()[s], 4),
                    " eV");
  }
  const bool same = split.train == split.validation;
  PrintMessage(absl::StrCat(split.train.size(), same ? " structures train and validate, " : " structures train, ",
                            same ? "" : absl::StrCat(split.validation.size(), " validate, "), split.test.size(),
                            " are kept for the test; ", task.task->num_parameters(), " parameters; atomic energies",
                            task.model->atomic_energies_fitted() ? " (fitted)" : "", energies));
  if (!task.model->repulsion().empty()) {
    PrintMessage(
        absl::StrCat("the repulsion of --zbl is subtracted from the labels and a part of the model; in "
                     "Angstrom it is switched off from ",
                     DescribeRepulsion(task.model->repulsion(), data.descriptor())));
  }
  WarnOfStressLeftOut(data, loss, split.train);
  WarnOfMissingEnergies(data, split.train);
  WarnOfFitOutlier(data, *task.model, split.train);
  WarnOfEqualEnergies(*task.model, WithEnergy(data, split.train).size());
  const int num_features = data.descriptor().num_features();
  for (size_t s = 0; s < species.size(); ++s) {
    if (task.model->feature_range().min[s * num_features] == std::numeric_limits<double>::infinity()) {
      PrintWarning(absl::StrCat("no training atom is ", ElementSymbol(species[s]), ", whose network learns nothing"));
      continue;
    }
    if (!data.descriptor().is_chebyshev()) {
      WarnOfUnseenPairs(data.descriptor().moments(), *task.model, static_cast<int>(s));
      WarnOfVanishingDegrees(data.descriptor().moments(), *task.model, static_cast<int>(s));
      continue;
    }
    const std::vector<int> constant = task.model->feature_scaling().ConstantFeatures(static_cast<int>(s));
    if (constant.empty()) continue;
    PrintWarning(
        absl::StrCat(constant.size(), " of ", num_features, " features do not vary over the training atoms of ",
                     ElementSymbol(species[s]), " and are ignored (numbers ",
                     absl::StrJoin(constant.begin(), constant.begin() + std::min<size_t>(constant.size(), 10), ", "),
                     constant.size() > 10 ? ", ..." : "", ")"));
  }
}

absl::Status WriteFrames(absl::string_view directory, const AtomicData& data, const Split& split) {
  for (const auto& [name, examples] : SetsOf(split)) {
    RETURN_IF_ERROR(
        WriteFileAtomically(absl::StrCat(directory, "/", name, "_frames.txt"), StructureListOf(data, *examples)));
  }
  return absl::OkStatus();
}

absl::Status SavePredictions(const std::string& directory, const AtomicData& data, const Split& split,
                             int num_threads) {
  if (!FLAGS_save_energies && !FLAGS_save_forces) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Potential potential, ReadPotential(RunDirectory(directory).best()));
  for (const auto& [name, examples] : SetsOf(split)) {
    if (examples->empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<StructurePrediction> predictions,
                     PredictData(potential, data, *examples, FLAGS_save_forces, num_threads));
    if (FLAGS_save_energies) {
      RETURN_IF_ERROR(
          WriteFileAtomically(absl::StrCat(directory, "/energies-", name, ".tsv"), PredictionsToTsv(predictions)));
    }
    if (FLAGS_save_forces) {
      RETURN_IF_ERROR(WriteForcesTsv(absl::StrCat(directory, "/forces-", name, ".tsv"), predictions));
    }
  }
  return absl::OkStatus();
}

}  // namespace rutile
