#include "lib/optimizer/methods/schedule_free.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/optimizer_kernel.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

ScheduleFreeAdamW::ScheduleFreeAdamW(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options),
      ranges_(std::move(ranges)),
      z_(Tensor::Zeros(dtype, {TotalSize(ranges_)})),
      exp_avg_sq_(Tensor::Zeros(dtype, {TotalSize(ranges_)})) {}

// Starts x, y and z at the same point.
template <typename T>
void ScheduleFreeAdamW::Start(int64_t begin, int64_t end, const Tensor& parameters) {
  const auto y = parameters.values<T>();
  const auto z = z_.mutable_values<T>();
  ForEachRange(ranges_, begin, end, [&](const ParameterRange& range, int64_t at) {
    std::copy_n(y.begin() + range.begin, range.size, z.begin() + at);
  });
}

template <typename T>
void ScheduleFreeAdamW::Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  const auto g = gradient.values<T>();
  const auto v = exp_avg_sq_.mutable_values<T>(), z = z_.mutable_values<T>(), y = parameters->mutable_values<T>();
  if (step_ == 1) Start<T>(begin, begin + gradient.num_elements(), *parameters);
  ForEachRange(ranges_, begin, begin + gradient.num_elements(), [&](const ParameterRange& range, int64_t at) {
    ScheduleFreeStep here = now_;
    here.scale = scale;
    if (!range.decays) here.decay = 0;
    ScheduleFreeUpdate(here, g.subspan(range.begin - begin, range.size), v.subspan(at, range.size),
                       z.subspan(at, range.size), y.subspan(range.begin, range.size));
  });
}

void ScheduleFreeAdamW::BeginStep(double learning_rate) {
  ++step_;
  const auto t = static_cast<double>(step_);
  highest_learning_rate_ = std::max(highest_learning_rate_, learning_rate);
  const double weight =
      std::pow(t, options_.weight_step_power) * std::pow(highest_learning_rate_, options_.weight_lr_power);
  weight_sum_ += weight;
  ScheduleFreeStep step;
  step.beta2 = options_.beta2;
  step.epsilon = options_.epsilon;
  step.decay = options_.weight_decay;
  step.root_correction2 = std::sqrt(1 - std::pow(options_.beta2, t));
  step.share = weight_sum_ > 0 ? weight / weight_sum_ : 0;  // 0 if the learning rate is 0: nothing has moved
  step.y_rate = learning_rate * (1 - options_.beta1 * (1 - step.share));
  step.learning_rate = learning_rate;
  now_ = step;
}

void ScheduleFreeAdamW::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  if (z_.dtype() == DType::kF32) {
    Update<float>(begin, gradient, scale, parameters);
  } else {
    Update<double>(begin, gradient, scale, parameters);
  }
}

// Computes x = (y - (1 - beta1) z) / beta1.
template <typename T>
void ScheduleFreeAdamW::Average(const Tensor& parameters) {
  const T* const y = parameters.values<T>().data();
  const T* const z = z_.values<T>().data();
  T* const x = average_.mutable_values<T>().data();
  const T along = static_cast<T>(1 - 1 / options_.beta1);
  ForEachRange(ranges_, [&](const ParameterRange& range, int64_t at) {
    const int64_t end = range.begin + range.size;
    for (int64_t i = range.begin, j = at; i < end; ++i, ++j) x[i] = y[i] + along * (z[j] - y[i]);
  });
}

const Tensor& ScheduleFreeAdamW::EvaluationParameters(const Tensor& parameters) {
  if (step_ == 0) return parameters;
  CHECK(parameters.dtype() == z_.dtype()) << DTypeName(parameters.dtype());
  if (average_.shape() != parameters.shape() || average_.dtype() != z_.dtype()) {
    average_ = Tensor::Zeros(z_.dtype(), parameters.shape());
  }
  std::memcpy(average_.mutable_data(), parameters.data(), parameters.num_bytes());
  if (z_.dtype() == DType::kF32) {
    Average<float>(parameters);
  } else {
    Average<double>(parameters);
  }
  return average_;
}

NamedTensors ScheduleFreeAdamW::State() const {
  NamedTensors state;
  state.Set("z", z_);
  state.Set("exp_avg_sq", exp_avg_sq_);
  state.Set("step", Tensor::Scalar<int64_t>(step_));
  state.Set("weight_sum", Tensor::Scalar<double>(weight_sum_));
  state.Set("highest_learning_rate", Tensor::Scalar<double>(highest_learning_rate_));
  return state;
}

absl::Status ScheduleFreeAdamW::SetState(const NamedTensors& state) {
  const Tensor number = Tensor::Scalar<double>(0);
  RETURN_IF_ERROR(CheckStateTensor(state, "z", z_));
  RETURN_IF_ERROR(CheckStateTensor(state, "exp_avg_sq", exp_avg_sq_));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", Tensor::Scalar<int64_t>(0)));
  RETURN_IF_ERROR(CheckStateTensor(state, "weight_sum", number));
  RETURN_IF_ERROR(CheckStateTensor(state, "highest_learning_rate", number));
  CopyStateTensor(state, "z", &z_);
  CopyStateTensor(state, "exp_avg_sq", &exp_avg_sq_);
  step_ = state.At("step").values<int64_t>()[0];
  weight_sum_ = state.At("weight_sum").values<double>()[0];
  highest_learning_rate_ = state.At("highest_learning_rate").values<double>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
