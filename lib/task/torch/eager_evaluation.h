// Evaluates a task through LibTorch's operations, on a GPU.

#ifndef RUTILE_LIB_TASK_TORCH_EAGER_EVALUATION_H_
#define RUTILE_LIB_TASK_TORCH_EAGER_EVALUATION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

// True if the task has an EagerTask that evaluates on devices.
bool EvaluatesOnDevices(const Task& task);

// Evaluates batches with one copy of the parameters on a device, for tasks that have EagerTask::EvaluateEager.
class EagerEvaluation {
 public:
  // Copies the parameters to the device ("cuda:0"; "cpu", for tests), which this machine must have. Requires
  // EvaluatesOnDevices(task); the task must outlive this object.
  EagerEvaluation(const Task& task, const Tensor& parameters, const std::string& device);
  ~EagerEvaluation();

  // Does what Task::Evaluate does. INTERNAL with LibTorch's message if LibTorch throws here or has thrown in the
  // constructor.
  absl::Status Add(const NamedTensors& batch, TermSums* sums, absl::Span<double> metric_sums);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_EAGER_EVALUATION_H_
