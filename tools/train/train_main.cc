// train: structures, features or neighbours in, a potential out.

#include <gflags/gflags.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/input_files.h"
#include "lib/base/status_macros.h"
#include "lib/potential/potential_file.h"
#include "lib/train/run_directory.h"
#include "lib/train/split.h"
#include "lib/train/trainer.h"
#include "tools/common/checkpoint_flags.h"
#include "tools/common/run_tool.h"
#include "tools/common/split_flags.h"
#include "tools/common/trainer_flags.h"
#include "tools/train/compile_flags.h"
#include "tools/train/data_flags.h"
#include "tools/train/memory_flags.h"
#include "tools/train/potential_flags.h"
#include "tools/train/precision_flags.h"
#include "tools/train/run_record.h"
#include "tools/train/train_plot.h"
#include "tools/train/train_progress.h"
#include "tools/train/train_report.h"
#include "tools/train/train_task.h"

DEFINE_int32(committee, 1,
             "Models to train, one after another, with the seeds seed, seed + 1, ..., each a whole run in "
             "output_dir/member-00 and so on. They share the data and the split.");
DEFINE_validator(committee, [](const char*, int32_t value) { return value >= 1 && value <= 100; });
DEFINE_bool(progress, true, "Show progress when standard error is a terminal.");

namespace rutile {
namespace {

absl::StatusOr<Split> MakeSplit(const AtomicData& data) {
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

struct Member {
  std::string name;  // "member-00"; "" where there is one model alone
  std::string directory;
};

absl::StatusOr<std::vector<Member>> Members(const TrainerOptions& options) {
  const std::string directory = OutputDirFromFlags();
  std::vector<Member> members = {{"", directory}};
  if (FLAGS_committee > 1) members.clear();
  for (int m = 0; FLAGS_committee > 1 && m < FLAGS_committee; ++m) {
    const std::string name = absl::StrFormat("member-%02d", m);
    members.push_back({name, absl::StrCat(directory, "/", name)});
  }
  for (const Member& member : members) {
    if (options.mode != RunMode::kNew || options.files == RunFiles::kNone || !RunDirectory(member.directory).HoldsRun())
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat(member.directory, " holds a run already: give --resume, --overwrite or another --output_dir"));
  }
  return members;
}

absl::Status TrainMember(const Member& member, const AtomicData& data, const AtomisticTaskOptions& task_options,
                         const Split& split, const std::vector<std::string>& messages, TrainerOptions options,
                         const Metadata& metadata) {
  ASSIGN_OR_RETURN(const TrainingTask task, MakeTrainingTask(data, task_options, split.train));
  for (const std::string& message : messages) PrintMessage(message);
  if (!task.compile_message.empty()) PrintMessage(task.compile_message);
  PrintFacts(data, task, split);
  const RunDirectory directory(member.directory);
  TrainProgress progress(member.name.empty() ? "train" : member.name, "atoms", options.stop,
                         FLAGS_progress && options.files != RunFiles::kAtEnd);
  TrainPlot plot(directory, options);
  double atoms_per_s = 0;
  if (progress.active()) options.on_step = [&](const StepReport& report) { progress.OnStep(report); };
  options.on_epoch = [&](const EpochReport& report) {
    atoms_per_s = report.cost_per_s;
    progress.OnEpoch(report);
    plot.OnEpoch(report);
  };
  const absl::StatusOr<TrainResult> result = Train(*task.task, split, options, member.directory, metadata);
  progress.Finish();
  if (absl::IsFailedPrecondition(result.status())) return absl::InvalidArgumentError(result.status().message());
  if (!result.ok() && !absl::IsCancelled(result.status())) return result.status();
  const bool keeps_files = options.files != RunFiles::kNone;
  if (keeps_files) RETURN_IF_ERROR(WriteFrames(member.directory, split));
  RETURN_IF_ERROR(result.status());
  const bool plotted = plot.Finish(result->best_epoch);
  PrintOutcome(directory, options, *result, task.task->loss_unit(), atoms_per_s, plotted);
  if (result->averaged > 0) {
    PrintMessage(absl::StrFormat("mean of the best %d: validation loss %.6g%s", result->averaged, result->average_loss,
                                 keeps_files ? " -> " + directory.average() : ""));
  }
  RETURN_IF_ERROR(PrintErrors(task, split, result->best_parameters, member.name));
  if (!keeps_files) return absl::OkStatus();
  return SavePredictions(member.directory, data, split, task_options.num_threads);
}

absl::Status RunTrain(const ToolRun& run) {
  if (run.args.empty()) {
    return absl::InvalidArgumentError("needs structures, features or neighbors to train on; see train --help");
  }
  ASSIGN_OR_RETURN(TrainerOptions options, TrainerOptionsFromFlags());
  RETURN_IF_ERROR(CheckPlotFlags(options));
  ASSIGN_OR_RETURN(AtomisticTaskOptions task_options, AtomisticTaskOptionsFromFlags());
  std::vector<std::string> messages;
  RETURN_IF_ERROR(SetEagerFromFlags(task_options.hidden, &options, &messages));
  ASSIGN_OR_RETURN(const std::vector<std::string> memory, MemoryMessagesFromFlags(options));
  messages.insert(messages.end(), memory.begin(), memory.end());
  ASSIGN_OR_RETURN(task_options.compile, CompileOptionsFromFlags(options));
  ASSIGN_OR_RETURN(const std::vector<Member> members, Members(options));
  ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));
  ASSIGN_OR_RETURN(AtomicData data, ReadTrainingData(inputs, task_options.atomic_energies));
  ASSIGN_OR_RETURN(task_options.precision, PrecisionFromFlags(data, options));
  ASSIGN_OR_RETURN(const Split split, MakeSplit(data));
  ASSIGN_OR_RETURN(const std::vector<std::string> cached, CacheFromFlags(&data, &task_options));
  messages.insert(messages.end(), cached.begin(), cached.end());
  if (options.num_workers > 0 && LearnsFromKeptFeatures(data, task_options)) {
    messages.push_back(
        "--num_workers=0 is used: features are kept, a batch is a copy of them, and workers cannot help");
    options.num_workers = 0;
  }
  if (data.beyond_memory() && options.num_workers == 0) {
    PrintMessage("the neighbors take more than half of the memory: --num_workers=1 reads them ahead of training");
  }
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, PotentialSchema().kind, inputs));
  if (!data.commands().empty()) metadata["features_command"] = absl::StrJoin(data.commands(), " && ");
  if (members.size() > 1 && options.mode == RunMode::kResume) options.mode = RunMode::kResumeOrNew;
  RecordRun(run, EffectiveSettings(data, task_options, options), &options);
  for (const Member& member : members) {
    task_options.force_sampling.seed = options.seed;
    RETURN_IF_ERROR(TrainMember(member, data, task_options, split, messages, options, metadata));
    messages.clear();
    ++options.seed;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace rutile

int main(int argc, char** argv) {
  return rutile::RunTool(
      argc, argv,
      {"train", "fit a potential to energies, forces and stresses", "train [flags] --output_dir=run INPUT..."},
      rutile::RunTrain);
}
