// Computes a task's gradients through LibTorch's operations and autograd: in mixed precision, as TorchScript, or on a
// GPU.

#ifndef RUTILE_LIB_TASK_TORCH_EAGER_GRADIENTS_H_
#define RUTILE_LIB_TASK_TORCH_EAGER_GRADIENTS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/device_sums.h"
#include "lib/task/eager_options.h"
#include "lib/task/task.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// Returns INVALID_ARGUMENT if the options exclude each other, or are more than this machine and its LibTorch
// (torch_facts.h) or the task (EagerTask::CheckEager) can do.
absl::Status CheckEager(const Task& task, const EagerOptions& options);

// Computes gradients by LibTorch with the precision, script and device of the options. With default options the results
// are those of ReferenceGradients, to the bit.
//
// On a GPU the parameters are copied there once for all batches between two calls of Fetch, batches are copied through
// pinned memory while the GPU works, and gradients and sums stay there until Fetch: Add does not wait for the GPU.
class EagerGradients {
 public:
  // `task` must outlive this object, and CheckEager must have passed. The constructor sets, for the whole process,
  // LibTorch's precision of fp32 products and, for a GPU, its deterministic algorithms. staged: also on a CPU, results
  // are stored apart until Fetch (for tests).
  EagerGradients(const Task& task, const EagerOptions& options, bool staged = false);
  ~EagerGradients();

  // Adds `scale` times the gradient of term t to gradients[t] (flat, the parameters' type), and the terms' sums, which
  // are not scaled, to `sums`, as Task::AccumulateGradients does. On a GPU both get the results only in Fetch, and the
  // parameters must not change until then. INTERNAL with LibTorch's message if it throws (a GPU out of memory).
  absl::Status Add(const Tensor& parameters, const NamedTensors& batch, double scale, absl::Span<Tensor> gradients,
                   TermSums* sums);

  // Adds a batch like Add, at parameters that are on the device and need not stay the same. Gradients remain there, in
  // device_gradients(), and sums until FetchSums. Not together with Add, Fetch or SetProcesses; only for staged
  // results.
  absl::Status AddOnDevice(const at::Tensor& parameters, const NamedTensors& batch, double scale, TermSums* sums);
  // Waits for the GPU and adds the sums of the batches that AddOnDevice has added.
  absl::Status FetchSums(TermSums* sums);
  // [T] of [P], of the batches that AddOnDevice has added since they were last reset; undefined: 0. The caller resets
  // them. They may share memory with each other.
  std::vector<at::Tensor>* device_gradients();

  // From now on Fetch sums gradients over processes, on their GPUs, before it adds them; `sums` remain those of this
  // process. All processes must then call Fetch, also one that has added nothing. `processes` must outlive this object.
  // Only for staged results (a GPU, or staged = true).
  void SetProcesses(DeviceSums* processes);

  // Waits for the GPU and adds its results to the gradients and sums, which must be those that were passed to Add.
  absl::Status Fetch(absl::Span<Tensor> gradients, TermSums* sums);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_EAGER_GRADIENTS_H_
