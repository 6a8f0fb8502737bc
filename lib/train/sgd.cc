#include "lib/train/sgd.h"

#include "absl/status/status.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/train/optimizer_kernel.h"
#include "lib/train/state_tensor.h"

namespace rutile {

Sgd::Sgd(const OptimizerOptions& options, DType dtype, int64_t num_parameters)
    : options_(options), dtype_(dtype), momentum_(Tensor::Zeros(dtype, {options.momentum > 0 ? num_parameters : 0})) {}

void Sgd::Step(double learning_rate, const Tensor& gradient, Tensor* parameters) {
  SgdStep step;
  step.l2 = options_.weight_decay;
  step.momentum = options_.momentum;
  step.gain = step_ == 0 ? 1 : 1 - options_.dampening;
  step.nesterov = options_.nesterov;
  step.learning_rate = learning_rate;
  ++step_;
  CHECK(parameters->dtype() == dtype_ && gradient.dtype() == dtype_);
  if (dtype_ == DType::kF32) {
    SgdUpdate(step, gradient.values<float>(), momentum_.mutable_values<float>(), parameters->mutable_values<float>());
  } else {
    SgdUpdate(step, gradient.values<double>(), momentum_.mutable_values<double>(),
              parameters->mutable_values<double>());
  }
}

NamedTensors Sgd::State() const {
  NamedTensors state;
  if (momentum_.num_elements() > 0) state.Set("momentum_buffer", momentum_);
  state.Set("step", Tensor::Scalar<int64_t>(step_));
  return state;
}

absl::Status Sgd::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "step", Tensor::Scalar<int64_t>(0)));
  if (momentum_.num_elements() > 0) {
    RETURN_IF_ERROR(CheckStateTensor(state, "momentum_buffer", momentum_));
    CopyStateTensor(state, "momentum_buffer", &momentum_);
  }
  step_ = state.At("step").values<int64_t>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
