#include "lib/optimizer/schedule/plateau.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {
namespace {

constexpr double kSmallestChange = 1e-8;  // "eps" of ReduceLROnPlateau: smaller reductions are skipped

}  // namespace

Plateau::Plateau(const ScheduleOptions& options, double learning_rate)
    : factor_(options.factor),
      patience_(options.patience),
      threshold_(options.threshold),
      cooldown_(options.cooldown),
      min_learning_rate_(options.min_learning_rate),
      maximize_(options.maximize),
      rate_(learning_rate),
      best_(maximize_ ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {}

bool Plateau::Better(double loss) const {
  return maximize_ ? loss > best_ * (1 + threshold_) : loss < best_ * (1 - threshold_);
}

void Plateau::Observe(double loss) {
  if (Better(loss)) {
    best_ = loss;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_ = 0;
  }
  if (bad_ <= patience_) return;
  const double reduced = std::max(rate_ * factor_, min_learning_rate_);
  if (rate_ - reduced > kSmallestChange) rate_ = reduced;
  cooldown_left_ = cooldown_;
  bad_ = 0;
}

NamedTensors Plateau::State() const {
  NamedTensors state;
  state.Set("plateau",
            Tensor::Of<double>({rate_, best_, static_cast<double>(bad_), static_cast<double>(cooldown_left_)}, {4}));
  return state;
}

absl::Status Plateau::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "plateau", Tensor::Zeros(DType::kF64, {4})));
  const auto values = state.At("plateau").values<double>();
  rate_ = values[0];
  best_ = values[1];
  bad_ = static_cast<int64_t>(values[2]);
  cooldown_left_ = static_cast<int64_t>(values[3]);
  return absl::OkStatus();
}

}  // namespace rutile
