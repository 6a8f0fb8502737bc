#include "tools/train/train_report.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_tables.h"
#include "lib/potential/potential_file.h"
#include "lib/potential/predict_data.h"
#include "lib/structure/element.h"
#include "lib/train/run_directory.h"
#include "tools/common/run_tool.h"

DEFINE_bool(save_energies, false, "Write what the best model says of each structure: energies-train.tsv and so on.");
DEFINE_bool(save_forces, false, "Write what the best model says of each atom: forces-train.tsv and so on.");

namespace rutile {
namespace {

using Sets = std::array<std::pair<const char*, const std::vector<int64_t>*>, 3>;

Sets SetsOf(const Split& split) {
  return {{{"train", &split.train}, {"validation", &split.validation}, {"test", &split.test}}};
}

}  // namespace

void PrintFacts(const AtomicData& data, const TrainingTask& task, const Split& split) {
  const std::vector<uint8_t>& species = data.descriptor().species;
  std::string energies;
  for (size_t s = 0; s < species.size(); ++s) {
    absl::StrAppendFormat(&energies, " %s %.4f eV", std::string(ElementSymbol(species[s])),
                          task.model->atomic_energies()[s]);
  }
  const bool same = split.train == split.validation;
  PrintMessage(absl::StrCat(split.train.size(), same ? " structures train and validate, " : " structures train, ",
                            same ? "" : absl::StrCat(split.validation.size(), " validate, "), split.test.size(),
                            " are kept for the test; ", task.task->num_parameters(), " parameters; atomic energies",
                            task.model->atomic_energies_fitted() ? " (fitted)" : "", energies));
  const int num_features = data.descriptor().num_features();
  for (size_t s = 0; s < species.size(); ++s) {
    if (task.model->feature_range().min[s * num_features] == std::numeric_limits<double>::infinity()) {
      PrintWarning(absl::StrCat("no training atom is ", ElementSymbol(species[s]), ", whose network learns nothing"));
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

absl::Status WriteFrames(absl::string_view directory, const Split& split) {
  for (const auto& [name, examples] : SetsOf(split)) {
    const std::string text = examples->empty() ? "" : absl::StrJoin(*examples, "\n") + "\n";
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", name, "_frames.txt"), text));
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
