// The check of the first batch that a run begins with (lib/train/step/first_batch_check.h), also without the run.

#ifndef RUTILE_LIB_TRAIN_FIRST_BATCH_OF_RUN_H_
#define RUTILE_LIB_TRAIN_FIRST_BATCH_OF_RUN_H_

#include "absl/status/status.h"
#include "lib/task/task.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Whether a run of these options begins with the check: definitions have nothing to be compared with.
bool ChecksFirstBatch(const TrainerOptions& options);

// Waits for what another process that makes the check has found, if one does (await_first_batch).
absl::Status AwaitFirstBatch(const TrainerOptions& options);

// Makes the check of a new run, and nothing else: for a process that checks for another, which trains. `options` must
// have passed CheckTrainerOptions. Errors are those of Train.
absl::Status CheckFirstBatchOfRun(Task& task, const Split& split, const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FIRST_BATCH_OF_RUN_H_
