// How processes that train together start: rank 0 opens the directory, and all verify that they train the same run.

#ifndef RUTILE_LIB_TRAIN_PROCESS_STARTUP_H_
#define RUTILE_LIB_TRAIN_PROCESS_STARTUP_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/distributed/agreement.h"
#include "lib/task/task.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/run_plan.h"
#include "lib/train/starting_state.h"

namespace rutile {

// Enters the run's directory (RunDirectory::Enter) on rank 0 and tells the other ranks whether to resume, or the error
// (FAILED_PRECONDITION). A process that trains alone just enters the directory.
absl::StatusOr<RunPlace> JoinRun(Agreement* agreement, const RunDirectory& directory, const TrainerOptions& options);

// Agrees on the clock for the first time. Returns the instant that max_time counts from: `own`, or now if that is
// InfiniteFuture; with several processes that of rank 0, whose clock decides. Fails as Agree and Gather do.
absl::StatusOr<absl::Time> AgreeOnStart(Agreement* agreement, absl::Time own);

// Returns the state of a new run or, to resume, that of the checkpoint, once all processes could read it: otherwise the
// error of this process, or FAILED_PRECONDITION with the message of the first other rank that could not.
absl::StatusOr<StartingState> AgreeToStart(Agreement* agreement, bool resume, const Task& task, const RunPlan& plan,
                                           const RunDirectory& directory);

// Checks that version, options, data (number of examples, split, SHA-256 of the inputs' content), the output directory
// and the starting state agree in all processes. FAILED_PRECONDITION naming the first rank and what differs; OK for a
// single process.
absl::Status CheckSameRun(Agreement* agreement, const Task& task, const RunPlan& plan, const Checkpoint& state,
                          const RunDirectory& directory, const Metadata& provenance);

// Writes flags.txt, if the options have its text, and config.json. log_columns: as in ConfigJson. changes: as in the
// run's checkpoints.
absl::Status WriteRunRecord(const RunDirectory& directory, const TrainerOptions& options, const Task& task,
                            const Metadata& provenance, absl::Span<const std::string> log_columns,
                            absl::string_view changes);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_PROCESS_STARTUP_H_
