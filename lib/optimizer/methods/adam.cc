#include "lib/optimizer/methods/adam.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/optimizer_kernel.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

Adam::Adam(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges)
    : options_(options),
      ranges_(std::move(ranges)),
      exp_avg_(Tensor::Zeros(dtype, {TotalSize(ranges_)})),
      exp_avg_sq_(Tensor::Zeros(dtype, {TotalSize(ranges_)})),
      max_exp_avg_sq_(Tensor::Zeros(dtype, {options.amsgrad ? TotalSize(ranges_) : 0})) {}

// Updates a part. If kept is not null, saves the old parameters there and returns the gradient's sum of squares.
template <typename T>
double Adam::Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters, Tensor* kept) {
  const auto g = gradient.values<T>();
  const auto m = exp_avg_.mutable_values<T>(), v = exp_avg_sq_.mutable_values<T>(), p = parameters->mutable_values<T>();
  const auto h = max_exp_avg_sq_.mutable_values<T>();
  double squares = 0;
  ForEachRange(ranges_, begin, begin + gradient.num_elements(), [&](const ParameterRange& range, int64_t at) {
    AdamStep here = now_;
    here.scale = scale;
    if (!range.decays) here.keep = 1, here.l2 = 0;
    const int64_t first = range.begin - begin;
    const auto of_g = g.subspan(first, range.size);
    const auto of_m = m.subspan(at, range.size), of_v = v.subspan(at, range.size),
               of_p = p.subspan(range.begin, range.size),
               of_h = options_.amsgrad ? h.subspan(at, range.size) : absl::Span<T>();
    if (kept == nullptr) {
      AdamUpdate(here, of_g, of_m, of_v, of_p, of_h);
    } else {
      const auto of_kept = kept->mutable_values<T>().subspan(first, range.size);
      squares += AdamUpdateKeeping(here, of_g, of_m, of_v, of_p, of_kept, of_h);
    }
  });
  return squares;
}

void Adam::BeginStep(double learning_rate) {
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
  now_ = step;
}

void Adam::StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) {
  if (exp_avg_.dtype() == DType::kF32) {
    Update<float>(begin, gradient, scale, parameters, nullptr);
  } else {
    Update<double>(begin, gradient, scale, parameters, nullptr);
  }
}

double Adam::StepPartKeeping(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters, Tensor* kept) {
  const int64_t n = gradient.num_elements();
  int64_t covered = 0;
  ForEachRange(ranges_, begin, begin + n, [&](const ParameterRange& range, int64_t) { covered += range.size; });
  // Parameters outside the ranges must be saved and summed as well; only the default implementation does that.
  if (covered < n) return Optimizer::StepPartKeeping(begin, gradient, scale, parameters, kept);
  return exp_avg_.dtype() == DType::kF32 ? Update<float>(begin, gradient, scale, parameters, kept)
                                         : Update<double>(begin, gradient, scale, parameters, kept);
}

NamedTensors Adam::State() const {
  NamedTensors state;
  state.Set("exp_avg", exp_avg_);
  state.Set("exp_avg_sq", exp_avg_sq_);
  if (options_.amsgrad) state.Set("max_exp_avg_sq", max_exp_avg_sq_);
  state.Set("step", Tensor::Scalar<int64_t>(step_));
  return state;
}

absl::Status Adam::SetState(const NamedTensors& state) {
  const Tensor step = Tensor::Scalar<int64_t>(0);
  RETURN_IF_ERROR(CheckStateTensor(state, "exp_avg", exp_avg_));
  RETURN_IF_ERROR(CheckStateTensor(state, "exp_avg_sq", exp_avg_sq_));
  if (options_.amsgrad) RETURN_IF_ERROR(CheckStateTensor(state, "max_exp_avg_sq", max_exp_avg_sq_));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", step));
  CopyStateTensor(state, "exp_avg", &exp_avg_);
  CopyStateTensor(state, "exp_avg_sq", &exp_avg_sq_);
  if (options_.amsgrad) CopyStateTensor(state, "max_exp_avg_sq", &max_exp_avg_sq_);
  step_ = state.At("step").values<int64_t>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
