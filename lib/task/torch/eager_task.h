// A capability of tasks that LibTorch's operations can compute in other types, as TorchScript, or on a GPU.

#ifndef RUTILE_LIB_TASK_TORCH_EAGER_TASK_H_
#define RUTILE_LIB_TASK_TORCH_EAGER_TASK_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/task/eager_options.h"
#include "lib/task/loss_terms.h"
#include "lib/tensorfile/named_tensors.h"

namespace at {
class Tensor;  // headers stay free of LibTorch
}

namespace rutile {

// Task::eager() returns it. A task without it is computed by Task::ExampleLosses, with plain options only.
class EagerTask {
 public:
  virtual ~EagerTask() = default;

  // Returns INVALID_ARGUMENT naming the options that this task does not support; by default it supports all.
  virtual absl::Status CheckEager(const EagerOptions& options) const { return absl::OkStatus(); }

  // Computes Task::ExampleLosses [B, T] on the parameters' device, with networks in the type or form that the options
  // name (CheckEager has passed); losses and all that is not a network are computed as in ExampleLosses. batch: as
  // CompleteBatch returns it.
  virtual at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                                 const EagerOptions& options) const = 0;

  // True if the task has EvaluateEager, which evaluates where the parameters are, on a GPU. It adds what Task::Evaluate
  // adds, up to rounding, by LibTorch's operations in the parameters' type, and does not catch their exceptions. False
  // by default.
  virtual bool EvaluatesOnDevices() const { return false; }
  virtual void EvaluateEager(const at::Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                             absl::Span<double> metric_sums) const {
    LOG(FATAL) << "this task evaluates on the CPU alone";
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_EAGER_TASK_H_
