// Computes a task's gradients by automatic differentiation of its definition: slow, and right.

#ifndef RUTILE_LIB_TASK_TORCH_REFERENCE_GRADIENTS_H_
#define RUTILE_LIB_TASK_TORCH_REFERENCE_GRADIENTS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

// Does what Task::AccumulateGradients does, through Task::ExampleLosses and LibTorch's autograd with one backward pass
// for each term: adds to gradients[t] (flat, the parameters' type) and to `sums`. Sums are taken in fp64 over the
// examples in order. Gradients of frozen parameters (Task::SetFrozen) are not computed and stay unchanged. CHECK-fails
// if ExampleLosses or ExampleCounts returns another shape than [B, T], or `gradients` has another size than T.
absl::Status ReferenceGradients(const Task& task, const Tensor& parameters, const NamedTensors& batch,
                                absl::Span<Tensor> gradients, TermSums* sums);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_REFERENCE_GRADIENTS_H_
