// The check of the first batch that a run begins with (lib/train/step/first_batch_check.h), also without the run.

#ifndef RUTILE_LIB_TRAIN_FIRST_BATCH_OF_RUN_H_
#define RUTILE_LIB_TRAIN_FIRST_BATCH_OF_RUN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Makes the check in this process, if the options have one and no other process makes it.
absl::Status CheckFirstBatchHere(Task& task, const Tensor& parameters, absl::Span<const int64_t> examples,
                                 const TrainerOptions& options, int64_t epoch);

// Waits for what another process that makes the check has found, if one does (await_first_batch); LookAtFirstBatch does
// not wait, and is cheap enough for each step.
absl::Status AwaitFirstBatch(const TrainerOptions& options);
absl::Status LookAtFirstBatch(const TrainerOptions& options);

// Makes the check of a new run of these settings, also for one that resumes, and nothing else: for a process that
// checks for another, which trains. `options` must have passed CheckTrainerOptions. Errors are those of Train.
absl::Status CheckFirstBatchOfRun(Task& task, const Split& split, const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FIRST_BATCH_OF_RUN_H_
