// Where a run begins: at initial parameters, or at the checkpoint of the run that it goes on with.

#ifndef RUTILE_LIB_TRAIN_STARTING_STATE_H_
#define RUTILE_LIB_TRAIN_STARTING_STATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/task/task.h"
#include "lib/train/checkpoint.h"
#include "lib/train/run_directory.h"
#include "lib/train/split.h"
#include "lib/train/trainer_options.h"

namespace rutile {

// options: resolved, as they decide the course. The states of optimiser, schedule, stopping and task are empty.
Checkpoint NewState(const Task& task, const Split& split, const TrainerOptions& options);

// Of the checkpoint in the directory. FAILED_PRECONDITION when that run had other options or data, INVALID_ARGUMENT
// naming the file when it is damaged or of another model; the states of the parts are not looked at.
absl::StatusOr<Checkpoint> ResumedState(const Task& task, const Split& split, const TrainerOptions& options,
                                        const RunDirectory& directory, int64_t num_batches);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STARTING_STATE_H_
