#include "lib/train/adam.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/train/state_tensor.h"

namespace rutile {

Adam::Adam(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options),
      ranges_(std::move(ranges)),
      exp_avg_(Tensor::Zeros(dtype, {TotalSize(ranges_)})),
      exp_avg_sq_(Tensor::Zeros(dtype, {TotalSize(ranges_)})) {}

template <typename T>
void Adam::Update(const AdamStep& step, const Tensor& gradient, Tensor* parameters) {
  const auto g = gradient.values<T>();
  const auto m = exp_avg_.mutable_values<T>(), v = exp_avg_sq_.mutable_values<T>(), p = parameters->mutable_values<T>();
  ForEachRange(ranges_, [&](const ParameterRange& range, int64_t at) {
    AdamStep here = step;
    if (!range.decays) here.keep = 1, here.l2 = 0;
    AdamUpdate(here, g.subspan(range.begin, range.size), m.subspan(at, range.size), v.subspan(at, range.size),
               p.subspan(range.begin, range.size));
  });
}

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
  if (exp_avg_.dtype() == DType::kF32) {
    Update<float>(step, gradient, parameters);
  } else {
    Update<double>(step, gradient, parameters);
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
