#include "lib/train/adam.h"

#include <cmath>

#include "absl/status/status.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/train/optimizer_kernel.h"
#include "lib/train/state_tensor.h"

namespace rutile {

Adam::Adam(const OptimizerOptions& options, DType dtype, int64_t num_parameters)
    : options_(options),
      exp_avg_(Tensor::Zeros(dtype, {num_parameters})),
      exp_avg_sq_(Tensor::Zeros(dtype, {num_parameters})) {}

void Adam::Step(double learning_rate, const Tensor& gradient, Tensor* parameters) {
  ++step_;
  const bool decoupled = options_.kind == OptimizerKind::kAdamW;
  AdamStep step;
  step.keep = decoupled ? 1 - learning_rate * options_.weight_decay : 1;
  step.l2 = decoupled ? 0 : options_.weight_decay;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.epsilon = options_.epsilon;
  step.step_size = learning_rate / (1 - std::pow(options_.beta1, static_cast<double>(step_)));
  step.root_correction2 = std::sqrt(1 - std::pow(options_.beta2, static_cast<double>(step_)));
  CHECK(parameters->dtype() == exp_avg_.dtype() && gradient.dtype() == exp_avg_.dtype());
  if (exp_avg_.dtype() == DType::kF32) {
    AdamUpdate(step, gradient.values<float>(), exp_avg_.mutable_values<float>(), exp_avg_sq_.mutable_values<float>(),
               parameters->mutable_values<float>());
  } else {
    AdamUpdate(step, gradient.values<double>(), exp_avg_.mutable_values<double>(), exp_avg_sq_.mutable_values<double>(),
               parameters->mutable_values<double>());
  }
}

NamedTensors Adam::State() const {
  NamedTensors state;
  state.Set("exp_avg", exp_avg_);
  state.Set("exp_avg_sq", exp_avg_sq_);
  state.Set("step", Tensor::Scalar<int64_t>(step_));
  return state;
}

absl::Status Adam::SetState(const NamedTensors& state) {
  const Tensor step = Tensor::Scalar<int64_t>(0);
  RETURN_IF_ERROR(CheckStateTensor(state, "exp_avg", exp_avg_));
  RETURN_IF_ERROR(CheckStateTensor(state, "exp_avg_sq", exp_avg_sq_));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", step));
  CopyStateTensor(state, "exp_avg", &exp_avg_);
  CopyStateTensor(state, "exp_avg_sq", &exp_avg_sq_);
  step_ = state.At("step").values<int64_t>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
