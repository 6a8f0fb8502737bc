#include "lib/optimizer/methods/rmsprop.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/optimizer_kernel.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

Rmsprop::Rmsprop(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options),
      ranges_(std::move(ranges)),
      square_avg_(Tensor::Zeros(dtype, {TotalSize(ranges_)})),
      grad_avg_(Tensor::Zeros(dtype, {options.centered ? TotalSize(ranges_) : 0})),
      momentum_(Tensor::Zeros(dtype, {options.momentum > 0 ? TotalSize(ranges_) : 0})) {}

template <typename T>
void Rmsprop::Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  const auto g = gradient.values<T>();
  const auto v = square_avg_.mutable_values<T>(), m = grad_avg_.mutable_values<T>(), b = momentum_.mutable_values<T>();
  const auto p = parameters->mutable_values<T>();
  ForEachRange(ranges_, begin, begin + gradient.num_elements(), [&](const ParameterRange& range, int64_t at) {
    RmspropStep here = now_;
    here.scale = scale;
    if (!range.decays) here.l2 = 0;
    RmspropUpdate(here, g.subspan(range.begin - begin, range.size), v.subspan(at, range.size),
                  m.empty() ? m : m.subspan(at, range.size), b.empty() ? b : b.subspan(at, range.size),
                  p.subspan(range.begin, range.size));
  });
}

void Rmsprop::BeginStep(double learning_rate) {
  ++step_;
  RmspropStep step;
  step.l2 = options_.weight_decay;
  step.alpha = options_.alpha;
  step.epsilon = options_.epsilon;
  step.momentum = options_.momentum;
  step.learning_rate = learning_rate;
  now_ = step;
}

void Rmsprop::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  if (square_avg_.dtype() == DType::kF32) {
    Update<float>(begin, gradient, scale, parameters);
  } else {
    Update<double>(begin, gradient, scale, parameters);
  }
}

NamedTensors Rmsprop::State() const {
  NamedTensors state;
  state.Set("square_avg", square_avg_);
  if (options_.centered) state.Set("grad_avg", grad_avg_);
  if (options_.momentum > 0) state.Set("momentum_buffer", momentum_);
  state.Set("step", Tensor::Scalar<int64_t>(step_));
  return state;
}

absl::Status Rmsprop::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "square_avg", square_avg_));
  if (options_.centered) RETURN_IF_ERROR(CheckStateTensor(state, "grad_avg", grad_avg_));
  if (options_.momentum > 0) RETURN_IF_ERROR(CheckStateTensor(state, "momentum_buffer", momentum_));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", Tensor::Scalar<int64_t>(0)));
  CopyStateTensor(state, "square_avg", &square_avg_);
  if (options_.centered) CopyStateTensor(state, "grad_avg", &grad_avg_);
  if (options_.momentum > 0) CopyStateTensor(state, "momentum_buffer", &momentum_);
  step_ = state.At("step").values<int64_t>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
