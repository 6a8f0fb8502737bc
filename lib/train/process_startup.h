// How processes that train together begin: one opens the directory, all make sure that they are about to do the same.

#ifndef RUTILE_LIB_TRAIN_PROCESS_STARTUP_H_
#define RUTILE_LIB_TRAIN_PROCESS_STARTUP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/distributed/agreement.h"
#include "lib/task/task.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/run_plan.h"

namespace rutile {

// RunDirectory::Enter by rank 0; the others take over what came of it: whether there is a run to go on with, or its
// error (FAILED_PRECONDITION). Alone: RunDirectory::Enter.
absl::StatusOr<RunPlace> JoinRun(Agreement* agreement, const RunDirectory& directory, const TrainerOptions& options);

// Whether version, options, data (their number, the split, the inputs' SHA-256) and the state to begin at are the same
// in all processes. FAILED_PRECONDITION naming the first rank and thing that differ; OK when alone.
absl::Status CheckSameRun(Agreement* agreement, const Task& task, const RunPlan& plan, const Checkpoint& state,
                          const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_PROCESS_STARTUP_H_
