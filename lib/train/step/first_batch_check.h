// Before a run trusts a task's kernels or LibTorch's TorchScript, their gradient is compared with the reference on its
// first examples.

#ifndef RUTILE_LIB_TRAIN_STEP_FIRST_BATCH_CHECK_H_
#define RUTILE_LIB_TRAIN_STEP_FIRST_BATCH_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// The first of `examples` whose Task::ExampleCost adds up to at most check_cost: one at least, batch_size at most.
absl::Span<const int64_t> ExamplesToCheck(const Task& task, absl::Span<const int64_t> examples,
                                          const TrainerOptions& options);

// FAILED_PRECONDITION naming term and parameter when AccumulateGradients (kScript: TorchScript) and the reference
// differ on these, and on the next two times as many where there are so many. INVALID_ARGUMENT naming an example where
// it is data or parameters that are not finite, in all of these. The task's epoch is `epoch` afterward, and what it
// remembers (Task::State) is not as before.
absl::Status CheckFirstBatch(Task& task, const Tensor& parameters, absl::Span<const int64_t> examples,
                             const TrainerOptions& options, int64_t epoch);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_FIRST_BATCH_CHECK_H_
