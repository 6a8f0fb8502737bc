#include "lib/optimizer/averages/average_best.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {
namespace {

// [n, P] -> [P]
template <typename T>
void MeanOfRows(const Tensor& rows, int64_t n, Tensor* mean) {
  const absl::Span<T> out = mean->mutable_values<T>();
  const T* from = rows.values<T>().data();
  for (size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (int64_t row = 0; row < n; ++row) sum += from[row * static_cast<int64_t>(out.size()) + i];
    out[i] = static_cast<T>(sum / static_cast<double>(n));
  }
}

}  // namespace

AverageBest::AverageBest(int64_t k, bool maximize, DType dtype, int64_t num_parameters) : k_(k), maximize_(maximize) {
  CHECK_GE(k, 1);
  CHECK(dtype == DType::kF32 || dtype == DType::kF64) << DTypeName(dtype);
  parameters_ = Tensor::Zeros(dtype, {k, num_parameters});
}

bool AverageBest::Observe(double loss, int64_t epoch, int64_t step, const Tensor& parameters) {
  if (std::isnan(loss)) return false;
  CHECK(parameters.dtype() == parameters_.dtype() && parameters.num_elements() == parameters_.dim(1));
  const auto better = [this](double a, double b) { return maximize_ ? a > b : a < b; };
  int64_t row = size();
  if (row == k_) {
    // Replace the worst, and among equals the latest: rows are not in order of time.
    row = 0;
    for (int64_t i = 1; i < k_; ++i) {
      if (better(losses_[row], losses_[i]) || (losses_[row] == losses_[i] && steps_[row] < steps_[i])) row = i;
    }
    if (!better(loss, losses_[row])) return false;
  } else {
    losses_.emplace_back();
    epochs_.emplace_back();
    steps_.emplace_back();
  }
  losses_[row] = loss;
  epochs_[row] = epoch;
  steps_[row] = step;
  if (parameters.num_bytes() > 0) {
    std::memcpy(static_cast<char*>(parameters_.mutable_data()) + row * parameters.num_bytes(), parameters.data(),
                parameters.num_bytes());
  }
  return true;
}

Tensor AverageBest::Mean() const {
  CHECK_GE(size(), 1);
  Tensor mean = Tensor::Zeros(parameters_.dtype(), {parameters_.dim(1)});
  if (mean.dtype() == DType::kF32) {
    MeanOfRows<float>(parameters_, size(), &mean);
  } else {
    MeanOfRows<double>(parameters_, size(), &mean);
  }
  return mean;
}

NamedTensors AverageBest::State() const {
  NamedTensors state;
  state.Set("parameters", parameters_);
  state.Set("loss", Tensor::Of(losses_));
  state.Set("epoch", Tensor::Of(epochs_));
  state.Set("step", Tensor::Of(steps_));
  return state;
}

absl::Status AverageBest::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "parameters", parameters_));
  const Tensor* loss = state.Find("loss");
  if (loss == nullptr || loss->rank() != 1) return absl::InvalidArgumentError("no tensor \"loss\" of rank 1");
  const int64_t n = loss->dim(0);
  if (n > k_) return absl::InvalidArgumentError(absl::StrCat(n, " kept parameter vectors, expected ", k_, " at most"));
  RETURN_IF_ERROR(CheckStateTensor(state, "loss", Tensor::Zeros(DType::kF64, {n})));
  RETURN_IF_ERROR(CheckStateTensor(state, "epoch", Tensor::Zeros(DType::kI64, {n})));
  RETURN_IF_ERROR(CheckStateTensor(state, "step", Tensor::Zeros(DType::kI64, {n})));
  CopyStateTensor(state, "parameters", &parameters_);
  const auto losses = loss->values<double>();
  const auto epochs = state.At("epoch").values<int64_t>();
  const auto steps = state.At("step").values<int64_t>();
  losses_.assign(losses.begin(), losses.end());
  epochs_.assign(epochs.begin(), epochs.end());
  steps_.assign(steps.begin(), steps.end());
  return absl::OkStatus();
}

}  // namespace rutile
