// What a loss or gradient that is not finite came from, for a report or a debugger: kind failed-batch/1.

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

struct FailedBatch {
  absl::Span<const int64_t> examples;   // of the task
  const NamedTensors* batch = nullptr;  // what Task::MakeBatch made of them
  const TermSums* sums = nullptr;       // that it led to, [T]
  double loss = 0;                      // of these sums
  double gradient_norm = 0;
  absl::string_view message;  // what was told to the user
};

// Atomic. `state` is that before the step: its parameters are those that failed, and are written under their names.
// `provenance` joins the metadata. Errors of the file system; CHECK-fails when a pointer is missing.
absl::Status WriteFailedBatch(absl::string_view path, const Task& task, const Checkpoint& state,
                              const FailedBatch& failed, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_FILES_FAILED_BATCH_H_
