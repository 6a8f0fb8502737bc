// Where a run begins: at initial parameters, or at the checkpoint of the run that it goes on with.

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
  std::string path;  // of the checkpoint
  // Parts whose state must not be set: what they had means nothing under the new options.
  ResetOnResume new_parts;
  // The checkpoint is not the directory's last one: it must become that before the logs are cut back to it.
  bool is_to_be_last = false;
  bool leaves_previous = false;       // and previous() lies on a course that is left
  std::vector<std::string> messages;  // for people
};

// At plan.options.initial_parameters, where there are any. The states of the parts are empty.
Checkpoint NewState(const Task& task, const RunPlan& plan);

// Of the checkpoint that plan.options name, or of the last in the directory. A damaged one is an error that names
// another which is whole; with kResumeOrNew that is taken: last, previous, then numbered ones from the newest.
// FAILED_PRECONDITION when that run had other options or data that plan.options.overrides does not name,
// INVALID_ARGUMENT naming the file when it is of another model, DATA_LOSS when it is damaged; the states of the parts
// are not looked at.
absl::StatusOr<StartingState> ResumedState(const Task& task, const RunPlan& plan, const RunDirectory& directory);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STARTING_STATE_H_
