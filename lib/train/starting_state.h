// Where a run begins: at initial parameters, or at the checkpoint of the run that it goes on with.

#ifndef RUTILE_LIB_TRAIN_STARTING_STATE_H_
#define RUTILE_LIB_TRAIN_STARTING_STATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/task/task.h"
#include "lib/train/checkpoint.h"
#include "lib/train/run_directory.h"
#include "lib/train/run_plan.h"

namespace rutile {

// The states of the parts are empty.
Checkpoint NewState(const Task& task, const RunPlan& plan);

// Of the checkpoint in the directory. FAILED_PRECONDITION when that run had other options or data, INVALID_ARGUMENT
// naming the file when it is damaged or of another model; the states of the parts are not looked at.
absl::StatusOr<Checkpoint> ResumedState(const Task& task, const RunPlan& plan, const RunDirectory& directory);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STARTING_STATE_H_
