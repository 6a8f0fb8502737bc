#include "lib/optimizer/methods/adagrad_sums.h"

#include <algorithm>

#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

AdagradSums::AdagradSums(const OptimizerOptions& options, DType dtype, int64_t size)
    : sum_(Tensor::Zeros(dtype, {size})) {
  const auto fill = [&](auto values) { std::fill(values.begin(), values.end(), options.initial_accumulator); };
  if (dtype == DType::kF32) {
    fill(sum_.mutable_values<float>());
  } else {
    fill(sum_.mutable_values<double>());
  }
}

AdagradStep AdagradSums::NextStep(const OptimizerOptions& options, double learning_rate) {
  AdagradStep step;
  step.epsilon = options.epsilon;
  step.step_size = learning_rate / (1 + static_cast<double>(step_) * options.lr_decay);
  ++step_;
  return step;
}

NamedTensors AdagradSums::State() const {
  NamedTensors state;
  state.Set("sum", sum_);
  state.Set("step", Tensor::Scalar<int64_t>(step_));
  return state;
}

absl::Status AdagradSums::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "sum", sum_));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", Tensor::Scalar<int64_t>(0)));
  CopyStateTensor(state, "sum", &sum_);
  step_ = state.At("step").values<int64_t>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
