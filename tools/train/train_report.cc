#include "tools/train/train_report.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "lib/base/file.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/prediction_tables.h"
#include "lib/potential/potential_file.h"
#include "lib/potential/predict_data.h"
#include "lib/structure/element.h"
#include "lib/train/data_loader.h"
#include "lib/train/evaluate_examples.h"
#include "lib/train/log_format.h"
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
  PrintMessage(absl::StrCat(split.train.size(), " structures train, ", split.validation.size(), " validate, ",
                            split.test.size(), " are kept for the test; ", task.task->num_parameters(),
                            " parameters; atomic energies", task.model->atomic_energies_fitted() ? " (fitted)" : "",
                            energies));
  const std::vector<int> constant = task.model->feature_scaling().ConstantFeatures();
  if (constant.empty()) return;
  PrintWarning(
      absl::StrCat(constant.size(), " of ", data.descriptor().num_features(),
                   " features do not vary over the training atoms and are ignored (numbers ",
                   absl::StrJoin(constant.begin(), constant.begin() + std::min<size_t>(constant.size(), 10), ", "),
                   constant.size() > 10 ? ", ..." : "", ")"));
}

void PrintOutcome(const RunDirectory& directory, const TrainerOptions& options, const TrainResult& result,
                  absl::string_view loss_unit, double atoms_per_s, bool plotted) {
  PrintMessage(absl::StrFormat("%s after %d epochs, %d steps, %.2f s (%.0f atoms/s in the last epoch)",
                               result.stop_reason, result.epochs, result.steps, absl::ToDoubleSeconds(result.time),
                               atoms_per_s));
  std::string others;
  for (const LogFormat format : options.log_formats) {
    absl::StrAppend(&others, ", ", directory.log_stem(), LogFormatSuffix(format));
    if (options.log_every_n_steps > 0) {
      absl::StrAppend(&others, ", ", directory.step_log_stem(), LogFormatSuffix(format));
    }
  }
  if (plotted) absl::StrAppend(&others, ", ", directory.learning_curve());
  if (options.files == RunFiles::kNone) {
    PrintMessage("nothing was written");
    return;
  }
  PrintMessage(absl::StrFormat("best epoch %d, loss %.6g%s -> %s%s", result.best_epoch, result.best_loss,
                               loss_unit.empty() ? "" : absl::StrCat(" ", loss_unit), directory.best(), others));
}

absl::Status WriteFrames(absl::string_view directory, const Split& split) {
  for (const auto& [name, examples] : SetsOf(split)) {
    const std::string text = examples->empty() ? "" : absl::StrJoin(*examples, "\n") + "\n";
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", name, "_frames.txt"), text));
  }
  return absl::OkStatus();
}

absl::Status PrintErrors(const TrainingTask& task, const Split& split, const Tensor& parameters,
                         absl::string_view member) {
  static bool header = true;
  for (const auto& [name, examples] : SetsOf(split)) {
    if (examples->empty() || examples == &split.train) continue;
    DataLoaderOptions options;
    options.batch_size = 256;
    options.shuffle = false;
    DataLoader loader(*task.task, *examples, options);
    ASSIGN_OR_RETURN(const EvaluationResult result, EvaluateExamples(*task.task, parameters, &loader));
    if (header) {
      std::cout << (member.empty() ? "" : "member\t") << "set\tstructures";
      for (const Metric& metric : result.metrics) std::cout << "\t" << metric.name << "[" << metric.unit << "]";
      std::cout << "\n";
      header = false;
    }
    if (!member.empty()) std::cout << member << "\t";
    std::cout << name << "\t" << examples->size();
    for (const Metric& metric : result.metrics) std::cout << absl::StrFormat("\t%.4f", metric.value);
    std::cout << "\n";
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
