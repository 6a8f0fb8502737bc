#include "lib/task/torch/eager_evaluation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/task/torch/eager_task.h"
#include "lib/task/torch/torch_guard.h"
#include "lib/tensorfile/tensorfile_torch.h"

namespace rutile {
namespace {

const EagerTask& EagerTaskOf(const Task& task) {
  CHECK(EvaluatesOnDevices(task));
  return *task.eager();
}

}  // namespace

bool EvaluatesOnDevices(const Task& task) { return task.eager() != nullptr && task.eager()->EvaluatesOnDevices(); }

struct EagerEvaluation::Impl {
  const EagerTask& task;
  at::Tensor parameters;
  absl::Status status;
};

EagerEvaluation::EagerEvaluation(const Task& task, const Tensor& parameters, const std::string& device)
    : impl_(new Impl{EagerTaskOf(task), at::Tensor(), absl::OkStatus()}) {
  impl_->status = TorchGuard([&] { impl_->parameters = ToTorch(parameters).to(at::Device(device)); });
}

EagerEvaluation::~EagerEvaluation() = default;

absl::Status EagerEvaluation::Add(const NamedTensors& batch, TermSums* sums, absl::Span<double> metric_sums) {
  RETURN_IF_ERROR(impl_->status);
  return TorchGuard([&] {
    const at::NoGradGuard no_gradients;
    impl_->task.EvaluateEager(impl_->parameters, batch, sums, metric_sums);
  });
}

}  // namespace rutile
