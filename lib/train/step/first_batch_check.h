// Compares the gradients of a task's kernels, or of TorchScript, with the reference on the first examples of a run.

#ifndef RUTILE_LIB_TRAIN_STEP_FIRST_BATCH_CHECK_H_
#define RUTILE_LIB_TRAIN_STEP_FIRST_BATCH_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Returns the first of `examples` whose Task::ExampleCost adds up to at most check_cost; at least one and at most
// batch_size.
absl::Span<const int64_t> ExamplesToCheck(const Task& task, absl::Span<const int64_t> examples,
                                          const TrainerOptions& options);

// Returns FAILED_PRECONDITION naming term and parameter if what the run's steps use (AccumulateGradients, ComputeRows;
// kScript: TorchScript) disagrees with the reference on the first examples that are not left out and again on two
// further sets of examples, where there are enough. INVALID_ARGUMENT naming an example if data or parameters make the
// loss not finite in all sets tried. Leaves the task in epoch `epoch` and changes its Task::State.
absl::Status CheckFirstBatch(Task& task, const Tensor& parameters, absl::Span<const int64_t> examples,
                             const TrainerOptions& options, int64_t epoch);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_FIRST_BATCH_CHECK_H_
