// A task's evaluation through LibTorch's operations, on a GPU.

#ifndef RUTILE_LIB_TASK_EAGER_EVALUATION_H_
#define RUTILE_LIB_TASK_EAGER_EVALUATION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/task.h"

namespace rutile {

class EagerEvaluation {
 public:
  // Takes a copy of the parameters to the device ("cuda:0"; "cpu", for tests), which this machine has.
  // task.EvaluatesOnDevices(), and outlives this.
  EagerEvaluation(const Task& task, const Tensor& parameters, const std::string& device);
  ~EagerEvaluation();

  // As Task::Evaluate. INTERNAL with LibTorch's message when it throws, also in the constructor.
  absl::Status Add(const NamedTensors& batch, TermSums* sums, absl::Span<double> metric_sums);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EAGER_EVALUATION_H_
