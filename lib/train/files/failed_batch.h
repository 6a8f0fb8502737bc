// Writes the batch behind a loss or gradient that is not finite, for a bug report or a debugger (failed-batch/1).

#ifndef RUTILE_LIB_TRAIN_FILES_FAILED_BATCH_H_
#define RUTILE_LIB_TRAIN_FILES_FAILED_BATCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/files/checkpoint.h"

namespace rutile {

const Schema& FailedBatchSchema();

// A batch that failed, and what it led to.
struct FailedBatch {
  absl::Span<const int64_t> examples;   // indices in the task
  const NamedTensors* batch = nullptr;  // made by Task::MakeBatch from these examples
  const TermSums* sums = nullptr;       // [T] term sums of the batch
  double loss = 0;                      // formed of these sums
  double gradient_norm = 0;
  absl::string_view message;  // the error shown to the user
};

// Writes the file atomically. `state` is the state before the step: its parameters are those that failed, and are
// stored by name. `provenance` joins the metadata. Errors of the file system and of Task::CompleteBatch; CHECK-fails if
// a pointer is null.
absl::Status WriteFailedBatch(absl::string_view path, const Task& task, const Checkpoint& state,
                              const FailedBatch& failed, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_FAILED_BATCH_H_
