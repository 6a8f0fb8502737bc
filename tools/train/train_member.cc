#include "tools/train/train_member.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/train/run_directory.h"
#include "lib/train/trainer.h"
#include "tools/common/checkpoint_flags.h"
#include "tools/common/run_tool.h"
#include "tools/train/init_flags.h"
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

absl::StatusOr<std::vector<Member>> MembersFromFlags(const TrainerOptions& options) {
  const std::string directory = OutputDirFromFlags();
  std::vector<Member> members = {{"", directory}};
  if (FLAGS_committee > 1) members.clear();
  for (int m = 0; FLAGS_committee > 1 && m < FLAGS_committee; ++m) {
    const std::string name = absl::StrFormat("member-%02d", m);
    members.push_back({name, absl::StrCat(directory, "/", name)});
  }
  if (members.size() > 1 && !options.resume_from.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--resume=", options.resume_from,
                                                   " is one run's: --committee goes with --resume and --resume=auto"));
  }
  for (const Member& member : members) {
    if (options.files == RunFiles::kNone) break;
    const absl::Status usable = RunDirectory(member.directory).CheckUsable();
    if (!usable.ok()) return absl::InvalidArgumentError(usable.message());
    if (options.mode != RunMode::kNew || !RunDirectory(member.directory).HoldsRun()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(member.directory, " holds a run already: give --resume, --overwrite or another --output_dir"));
  }
  return members;
}

absl::Status TrainMember(const Member& member, const AtomicData& data, const AtomisticTaskOptions& task_options,
                         const Split& split, const std::vector<std::string>& messages,
                         const std::optional<Potential>& model, TrainerOptions options, const Metadata& metadata) {
  ASSIGN_OR_RETURN(const TrainingTask task, MakeTrainingTask(data, task_options, split.train));
  for (const std::string& message : messages) PrintMessage(message);
  if (!task.compile_message.empty()) PrintMessage(task.compile_message);
  PrintFacts(data, task, split);
  const RunDirectory directory(member.directory);
  const bool is_new = options.mode != RunMode::kResumeOrNew || !directory.HasCheckpoint();
  if (model.has_value() && is_new) RETURN_IF_ERROR(SetInitialParameters(*model, task, &options));
  options.on_message = PrintMessage;
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

}  // namespace rutile
