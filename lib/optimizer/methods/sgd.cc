#include "lib/optimizer/methods/sgd.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/optimizer_kernel.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

Sgd::Sgd(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options),
      ranges_(std::move(ranges)),
      dtype_(dtype),
      momentum_(Tensor::Zeros(dtype, {options.momentum > 0 ? TotalSize(ranges_) : 0})) {}

template <typename T>
void Sgd::Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  const auto g = gradient.values<T>();
  const auto b = momentum_.mutable_values<T>(), p = parameters->mutable_values<T>();
  ForEachRange(ranges_, begin, begin + gradient.num_elements(), [&](const ParameterRange& range, int64_t at) {
    SgdStep here = now_;
    here.scale = scale;
    if (!range.decays) here.l2 = 0;
    SgdUpdate(here, g.subspan(range.begin - begin, range.size), b.empty() ? b : b.subspan(at, range.size),
              p.subspan(range.begin, range.size));
  });
}

void Sgd::BeginStep(double learning_rate) {
  SgdStep step;
  step.l2 = options_.weight_decay;
  step.momentum = options_.momentum;
  step.gain = step_ == 0 ? 1 : 1 - options_.dampening;
  step.nesterov = options_.nesterov;
  step.learning_rate = learning_rate;
  ++step_;
  now_ = step;
}

void Sgd::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  if (dtype_ == DType::kF32) {
    Update<float>(begin, gradient, scale, parameters);
  } else {
    Update<double>(begin, gradient, scale, parameters);
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
