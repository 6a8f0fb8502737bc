// The check of the first batch (lib/train/step/first_batch_check.h) by a process of its own, so that train does without
// LibTorch: train-libtorch with the same command reads the same data and checks, while train reads its data and begins
// to train. What it finds is waited for before a run leaves anything (TrainerOptions::await_first_batch).

#ifndef RUTILE_TOOLS_TRAIN_FIRST_BATCH_PROCESS_H_
#define RUTILE_TOOLS_TRAIN_FIRST_BATCH_PROCESS_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Whether another process can read what the flags and arguments of this one name, and reading it twice is worth the
// while: neither pipes nor much data, one model, nothing that is tuned or copied into memory first. Errors of
// ExpandInputs.
absl::StatusOr<bool> CanReadInputsTwice(const ToolRun& run);

// Starts the process. It ends with this one. NOT_FOUND, beginning with `why`, if the program is not there; errors of
// fork and pipe.
absl::Status StartFirstBatchProcess(const ToolRun& run, absl::string_view why);

// Returns what TrainerOptions::await_first_batch is: it returns what the check has found, or INVALID_ARGUMENT if the
// process ended without a word. Null if no process was started.
std::function<absl::Status(bool wait)> FirstBatchOfProcess();

// True in the process that was started so: it writes no files.
bool OnlyChecksFirstBatch();

// In that process: leaves signals to the one that waits, which ends it.
void IgnoreSignals();

// In that process: tells the one that waits, and ends.
[[noreturn]] void EndWithFirstBatch(const absl::Status& found);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FIRST_BATCH_PROCESS_H_
