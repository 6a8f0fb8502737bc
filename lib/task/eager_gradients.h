// A task's gradients through LibTorch's operations and autograd, in mixed precision, as TorchScript, or on a GPU.

#ifndef RUTILE_LIB_TASK_EAGER_GRADIENTS_H_
#define RUTILE_LIB_TASK_EAGER_GRADIENTS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/device_sums.h"
#include "lib/task/eager_options.h"
#include "lib/task/task.h"

namespace rutile {

// INVALID_ARGUMENT: the options exclude each other or are more than this machine and this LibTorch (torch_facts.h) or
// the task (Task::CheckEager) can do.
absl::Status CheckEager(const Task& task, const EagerOptions& options);

// With default options it computes what ReferenceGradients does, to the bit.
//
// On a GPU the parameters are copied there once for all batches between two calls of Fetch, batches through pinned
// memory while the GPU works, and gradients and sums are kept there until Fetch: adding a batch waits for nothing.
class EagerGradients {
 public:
  // `task` must outlive it. CheckEager has passed. Sets LibTorch's precision of fp32 products, and for a GPU its
  // deterministic algorithms, for the whole process. staged: keep results apart until Fetch on a CPU, too; for tests.
  EagerGradients(const Task& task, const EagerOptions& options, bool staged = false);
  ~EagerGradients();

  // As Task::AccumulateGradients: adds to gradients[t] (flat, the parameters' type) scale times the gradient of term t,
  // and to `sums`, which are not scaled. On a GPU both show it only after Fetch. The parameters are the same until
  // then. INTERNAL with LibTorch's message when it throws (a GPU without memory).
  absl::Status Add(const Tensor& parameters, const NamedTensors& batch, double scale, absl::Span<Tensor> gradients,
                   TermSums* sums);

  // From now on Fetch gives gradients that are summed over processes, where they lie: `sums` stay this process's own.
  // All processes then call Fetch, also one that has added nothing. `processes` must outlive this object; staged alone.
  void SetProcesses(DeviceSums* processes);

  // Adds what is still on the GPU to the same as was given to Add. Waits for it.
  absl::Status Fetch(absl::Span<Tensor> gradients, TermSums* sums);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EAGER_GRADIENTS_H_
