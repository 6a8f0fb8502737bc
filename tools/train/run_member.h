// One model's run, or those of a committee, one after another: what all kinds of models have in common.

#ifndef RUTILE_TOOLS_TRAIN_RUN_MEMBER_H_
#define RUTILE_TOOLS_TRAIN_RUN_MEMBER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/task/task.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

namespace rutile {

struct Member {
  std::string name;  // "member-00"; "" where there is one model alone
  std::string directory;
  std::vector<std::string> replaces;  // directories of other runs, which go once this one has made a step
};

// Whether this process writes the files of the run: it is alone, or rank 0 of several, and files are asked for.
bool WritesFiles(const TrainerOptions& options);

// By --committee and --output_dir. INVALID_ARGUMENT when a directory holds a run that may not be replaced, cannot be
// written, or another process trains there: before data are read.
absl::StatusOr<std::vector<Member>> MembersFromFlags(const TrainerOptions& options);

struct TaskRun {
  Task* task = nullptr;
  std::string cost_unit;                       // of Task::ExampleCost: "atoms"
  std::string example_unit;                    // "structures"
  std::function<absl::Status()> write_beside;  // after training, also where that was interrupted; may be empty
};

// Trains with progress and pictures as the flags say, then says what came of it and prints the errors of the best. Of
// several processes rank 0 alone does all but train.
absl::StatusOr<TrainResult> RunTask(const Member& member, const TaskRun& run, const Split& split,
                                    TrainerOptions options, const Metadata& metadata);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_RUN_MEMBER_H_
