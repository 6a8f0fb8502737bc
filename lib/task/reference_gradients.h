// What a task's gradients are, by automatic differentiation of its definition: slow, and right.

#ifndef RUTILE_LIB_TASK_REFERENCE_GRADIENTS_H_
#define RUTILE_LIB_TASK_REFERENCE_GRADIENTS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

// Task::AccumulateGradients through Task::ExampleLosses and LibTorch's autograd, one backward pass for each term:
// adds to gradients[t] (flat, the parameters' type) and to `sums`. Sums are taken in fp64 over the examples in order.
// Differentiates by what does not rest (Task::SetFrozen) alone: the gradients of what rests stay as they are.
// CHECK-fails when ExampleLosses or ExampleCounts has another shape than [B, T], or `gradients` another size than T.
absl::Status ReferenceGradients(const Task& task, const Tensor& parameters, const NamedTensors& batch,
                                absl::Span<Tensor> gradients, TermSums* sums);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_REFERENCE_GRADIENTS_H_
