#include "tools/train/train_member.h"

#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/train/run_directory.h"
#include "tools/common/run_tool.h"
#include "tools/train/init_flags.h"
#include "tools/train/train_report.h"
#include "tools/train/train_task.h"

namespace rutile {

absl::Status TrainMember(const Member& member, const AtomicData& data, const AtomisticTaskOptions& task_options,
                         const Split& split, const std::vector<std::string>& messages,
                         const std::optional<Potential>& model, TrainerOptions options, const Metadata& metadata) {
  ASSIGN_OR_RETURN(const TrainingTask task, MakeTrainingTask(data, task_options, split.train));
  for (const std::string& message : messages) PrintMessage(message);
  if (!task.compile_message.empty()) PrintMessage(task.compile_message);
  PrintFacts(data, task, split);
  const bool is_new = options.mode != RunMode::kResumeOrNew || !RunDirectory(member.directory).HasCheckpoint();
  if (model.has_value() && is_new) RETURN_IF_ERROR(SetInitialParameters(*model, task, &options));
  const TaskRun run = {task.task.get(), "atoms", "structures", [&] { return WriteFrames(member.directory, split); }};
  RETURN_IF_ERROR(RunTask(member, run, split, options, metadata).status());
  if (!WritesFiles(options)) return absl::OkStatus();
  return SavePredictions(member.directory, data, split, task_options.num_threads);
}

}  // namespace rutile
