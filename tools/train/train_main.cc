// train: features in, a potential out.

#include <gflags/gflags.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "lib/base/file.h"
#include "lib/base/input_files.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/potential/atomistic_task.h"
#include "lib/potential/feature_data.h"
#include "lib/potential/potential_file.h"
#include "lib/structure/element.h"
#include "lib/train/data_loader.h"
#include "lib/train/evaluate_examples.h"
#include "lib/train/run_directory.h"
#include "lib/train/split.h"
#include "lib/train/trainer.h"
#include "tools/common/run_tool.h"
#include "tools/common/thread_flags.h"
#include "tools/common/trainer_flags.h"
#include "tools/train/potential_flags.h"

DEFINE_bool(progress, true, "Show progress when standard error is a terminal.");

namespace rutile {
namespace {

absl::StatusOr<Split> MakeSplit(const FeatureData& data) {
  ASSIGN_OR_RETURN(
      const SplitOptions options,
      SplitOptionsFromFlags([&](absl::string_view key, absl::string_view glob) { return data.Matches(key, glob); }));
  ASSIGN_OR_RETURN(Split split, SplitExamples(data.num_structures(), options));
  // Structures without an energy cannot be learned from or compared with.
  size_t removed = 0;
  for (std::vector<int64_t>* set : {&split.train, &split.validation, &split.test}) {
    const auto end = std::remove_if(set->begin(), set->end(), [&](int64_t s) { return !data.has_energy(s); });
    removed += set->end() - end;
    set->erase(end, set->end());
  }
  if (split.train.empty()) return absl::InvalidArgumentError("no training structure has an energy");
  if (removed > 0) PrintWarning(absl::StrCat(removed, " structures have no energy and are left out"));
  return split;
}

void PrintFacts(const FeatureData& data, const AtomisticTask& task, const Split& split) {
  const std::vector<uint8_t>& species = data.descriptor().species;
  std::string energies;
  for (size_t s = 0; s < species.size(); ++s) {
    absl::StrAppendFormat(&energies, " %s %.4f eV", std::string(ElementSymbol(species[s])), task.atomic_energies()[s]);
  }
  PrintMessage(absl::StrCat(split.train.size(), " structures train, ", split.validation.size(), " validate, ",
                            split.test.size(), " are kept for the test; ", task.num_parameters(),
                            " parameters; atomic energies", task.atomic_energies_fitted() ? " (fitted)" : "",
                            energies));
  const std::vector<int> constant = task.feature_scaling().ConstantFeatures();
  if (!constant.empty()) {
    PrintWarning(
        absl::StrCat(constant.size(), " of ", data.num_features(),
                     " features do not vary over the training atoms and are ignored (numbers ",
                     absl::StrJoin(constant.begin(), constant.begin() + std::min<size_t>(constant.size(), 10), ", "),
                     constant.size() > 10 ? ", ..." : "", ")"));
  }
}

absl::Status WriteFrames(const std::string& directory, const Split& split) {
  for (const auto& [name, examples] :
       {std::pair("train", &split.train), std::pair("validation", &split.validation), std::pair("test", &split.test)}) {
    const std::string text = examples->empty() ? "" : absl::StrJoin(*examples, "\n") + "\n";
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", name, "_frames.txt"), text));
  }
  return absl::OkStatus();
}

// A row for each set that is not empty: errors of the best model.
absl::Status PrintErrors(AtomisticTask& task, const Split& split, const Tensor& parameters) {
  bool header = true;
  for (const auto& [name, examples] : {std::pair("validation", &split.validation), std::pair("test", &split.test)}) {
    if (examples->empty()) continue;
    DataLoaderOptions options;
    options.batch_size = 256;
    options.shuffle = false;
    DataLoader loader(task, *examples, options);
    ASSIGN_OR_RETURN(const EvaluationResult result, EvaluateExamples(task, parameters, &loader));
    if (header) {
      std::cout << "set\tstructures";
      for (const Metric& metric : result.metrics) std::cout << "\t" << metric.name << "[" << metric.unit << "]";
      std::cout << "\n";
      header = false;
    }
    std::cout << name << "\t" << examples->size();
    for (const Metric& metric : result.metrics) std::cout << absl::StrFormat("\t%.4f", metric.value);
    std::cout << "\n";
  }
  return absl::OkStatus();
}

absl::Status RunTrain(const ToolRun& run) {
  if (run.args.empty()) return absl::InvalidArgumentError("needs features to train on; see train --help");
  ASSIGN_OR_RETURN(TrainerOptions options, TrainerOptionsFromFlags());
  ASSIGN_OR_RETURN(AtomisticTaskOptions task_options, AtomisticTaskOptionsFromFlags());
  task_options.num_threads = ThreadsFromFlags();
  const std::string directory = OutputDirFromFlags();
  if (options.mode == RunMode::kNew && RunDirectory(directory).HoldsRun()) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " holds a run already: give --resume, --overwrite or another --output_dir"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));
  ASSIGN_OR_RETURN(const FeatureData data, FeatureData::Read(inputs));
  ASSIGN_OR_RETURN(const Split split, MakeSplit(data));
  ASSIGN_OR_RETURN(const std::unique_ptr<AtomisticTask> task, AtomisticTask::Create(data, task_options, split.train));
  PrintFacts(data, *task, split);
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, PotentialSchema().kind, inputs));
  metadata["features_command"] = data.command();

  ProgressBar progress("train", options.stop.max_epochs, FLAGS_progress);
  double atoms_per_s = 0;
  options.on_epoch = [&](const EpochReport& report) {
    progress.Add();
    atoms_per_s = report.cost_per_s;
  };
  const absl::StatusOr<TrainResult> result = Train(*task, split, options, directory, metadata);
  progress.Finish();
  if (absl::IsFailedPrecondition(result.status())) return absl::InvalidArgumentError(result.status().message());
  if (!result.ok() && !absl::IsCancelled(result.status())) return result.status();
  RETURN_IF_ERROR(WriteFrames(directory, split));
  RETURN_IF_ERROR(result.status());

  PrintMessage(
      absl::StrFormat("%s after %d epochs, %d steps, %.2f s (%.0f atoms/s in the last epoch); best epoch %d -> %s",
                      result->stop_reason, result->epochs, result->steps, absl::ToDoubleSeconds(result->time),
                      atoms_per_s, result->best_epoch, RunDirectory(directory).best()));
  return PrintErrors(*task, split, result->best_parameters);
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(
      argc, argv, {"train", "fit a potential to energies", "train [flags] --output_dir=run features.safetensors..."},
      rutile::RunTrain);
}
