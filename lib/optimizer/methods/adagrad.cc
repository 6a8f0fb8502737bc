#include "lib/optimizer/methods/adagrad.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/optimizer_kernel.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

Adagrad::Adagrad(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options), ranges_(std::move(ranges)), sum_(Tensor::Zeros(dtype, {TotalSize(ranges_)})) {
  const auto fill = [&](auto values) { std::fill(values.begin(), values.end(), options.initial_accumulator); };
  if (dtype == DType::kF32) {
    fill(sum_.mutable_values<float>());
  } else {
    fill(sum_.mutable_values<double>());
  }
}

template <typename T>
void Adagrad::Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  const auto g = gradient.values<T>();
  const auto s = sum_.mutable_values<T>(), p = parameters->mutable_values<T>();
  ForEachRange(ranges_, begin, begin + gradient.num_elements(), [&](const ParameterRange& range, int64_t at) {
    AdagradStep here = now_;
    here.scale = scale;
    if (!range.decays) here.l2 = 0;
    AdagradUpdate(here, g.subspan(range.begin - begin, range.size), s.subspan(at, range.size),
                  p.subspan(range.begin, range.size));
  });
}

void Adagrad::BeginStep(double learning_rate) {
  AdagradStep step;
  step.l2 = options_.weight_decay;
  step.epsilon = options_.epsilon;
  step.step_size = learning_rate / (1 + static_cast<double>(step_) * options_.lr_decay);
  ++step_;
  now_ = step;
}

void Adagrad::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  if (sum_.dtype() == DType::kF32) {
    Update<float>(begin, gradient, scale, parameters);
  } else {
    Update<double>(begin, gradient, scale, parameters);
  }
}

NamedTensors Adagrad::State() const {
  NamedTensors state;
  state.Set("sum", sum_);
  state.Set("step", Tensor::Scalar<int64_t>(step_));
  return state;
}

absl::Status Adagrad::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "sum", sum_));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", Tensor::Scalar<int64_t>(0)));
  CopyStateTensor(state, "sum", &sum_);
  step_ = state.At("step").values<int64_t>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
