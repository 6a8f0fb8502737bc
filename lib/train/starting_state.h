// Finds the state that a run starts from: initial parameters, or the checkpoint of the run to resume.

#ifndef RUTILE_LIB_TRAIN_STARTING_STATE_H_
#define RUTILE_LIB_TRAIN_STARTING_STATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/task/task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/resume_config.h"
#include "lib/train/run_plan.h"

namespace rutile {

struct StartingState {
  Checkpoint state;
  std::string path;  // of the checkpoint; empty for a new run
  // Parts that must not be restored, because their old state means nothing under the new options.
  ResetOnResume new_parts;
  // True if the checkpoint is not the directory's last one. It must become the last one before the logs are cut back.
  bool is_to_be_last = false;
  bool leaves_previous = false;       // true: remove previous(), which is not part of the resumed run
  std::vector<std::string> messages;  // for the user
};

// Returns the state of a new run, at plan.options.initial_parameters if given. The states of the parts are empty.
Checkpoint NewState(const Task& task, const RunPlan& plan);

// Loads the checkpoint that plan.options name, or else the last one in the directory. If that one is damaged, the error
// names another that is whole; kResumeOrNew takes that other one instead (in this order: last, previous, then numbered
// ones from the newest). The states of the parts are not checked here. Errors: FAILED_PRECONDITION if the run had other
// options or data that plan.options.overrides does not name, INVALID_ARGUMENT naming the file if it belongs to another
// model, DATA_LOSS if it is damaged.
absl::StatusOr<StartingState> ResumedState(const Task& task, const RunPlan& plan, const RunDirectory& directory);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STARTING_STATE_H_
