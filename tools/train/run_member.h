// Runs one model, or the models of a committee one after another; common to all kinds of models.

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
#include "tools/train/report/outcome.h"

namespace rutile {

// One model to train.
struct Member {
  std::string name;  // "member-00"; "" for a single model
  std::string directory;
  std::string label;                  // "member-00 (1 of 3)"; "" for a single model
  std::vector<std::string> replaces;  // directories of other runs, removed after the first step
};

// Lets --quiet begin; to be called before anything is printed.
void StartMessagesFromFlags();

// True if this process writes the files of the run: files are requested, and it is the only process or rank 0.
bool WritesFiles(const TrainerOptions& options);

// Returns the models to train by --committee and --output_dir. Before data are read, INVALID_ARGUMENT if a directory
// holds a run that may not be replaced, cannot be written, or is in use by another process.
absl::StatusOr<std::vector<Member>> MembersFromFlags(const TrainerOptions& options);

// True if --max_time is over before a member that is not the first one has begun; says so then, and those after it are
// not to be trained either. With several processes rank 0's clock decides, and all must call it.
absl::StatusOr<bool> IsTooLate(const Member& member, const TrainerOptions& options);

// What RunTask needs to know about a task.
struct TaskRun {
  Task* task = nullptr;
  std::string cost_unit;                       // unit of Task::ExampleCost: "atoms"
  std::string example_unit;                    // "structures"
  std::function<absl::Status()> write_beside;  // called after training, even if interrupted; may be empty
  CountColumns count_columns = nullptr;        // beside the errors of a set; may be empty
};

// --max_time counts from the start of the program, so that reading data and the members before this one count. Trains
// with progress and plots as the flags request, prints the outcome, and prints the errors of the best model. If
// several processes train, rank 0 alone does everything but training.
absl::StatusOr<TrainResult> RunTask(const Member& member, const TaskRun& run, const Split& split,
                                    TrainerOptions options, const Metadata& metadata);

// Writes the member's file `finished` (RunDirectory::finished), if this process writes files. Call it last of all, for
// a run that RunTask has ended with OK.
absl::Status WriteFinished(const Member& member, const TrainerOptions& options, const TrainResult& result);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_RUN_MEMBER_H_
