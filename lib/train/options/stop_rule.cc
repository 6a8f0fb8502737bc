#include "lib/train/options/stop_rule.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/optimizer/state_tensor.h"

namespace rutile {

absl::Status CheckStopOptions(const StopOptions& options) {
  if (options.max_epochs < 1 && options.max_epochs != -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_epochs is ", options.max_epochs, ", expected 1 or more, or -1 for no limit"));
  }
  if (options.max_steps < 1 && options.max_steps != -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_steps is ", options.max_steps, ", expected 1 or more, or -1 for no limit"));
  }
  if (options.max_time <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_time is ", absl::FormatDuration(options.max_time), ", expected a time above 0"));
  }
  if (options.patience < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("early stopping: patience is ", options.patience, ", expected 1 or more, or 0 for off"));
  }
  if (!(options.min_delta >= 0) || !std::isfinite(options.min_delta)) {
    return absl::InvalidArgumentError(
        absl::StrCat("early stopping: min_delta is ", options.min_delta, ", expected 0 or more"));
  }
  if (options.min_epochs < 0 || (options.max_epochs > 0 && options.min_epochs > options.max_epochs)) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_epochs is ", options.min_epochs, ", expected 0 or more, up to max_epochs"));
  }
  if (options.min_steps < 0 || (options.max_steps > 0 && options.min_steps > options.max_steps)) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_steps is ", options.min_steps, ", expected 0 or more, up to max_steps"));
  }
  for (const auto& [name, value] : {std::make_pair("divergence_threshold", options.divergence_threshold),
                                    std::make_pair("stopping_threshold", options.stopping_threshold)}) {
    if (!std::isinf(value)) continue;
    return absl::InvalidArgumentError(absl::StrCat("early stopping: ", name, " is ", value, ", expected a number"));
  }
  return absl::OkStatus();
}

StopRule::StopRule(const StopOptions& options, bool maximize)
    : options_(options),
      maximize_(maximize),
      best_(maximize ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {}

void StopRule::Observe(double value) {
  last_ = value;
  if (maximize_ ? value > best_ + options_.min_delta : value < best_ - options_.min_delta) {
    best_ = value;
    bad_ = 0;
  } else {
    ++bad_;
  }
}

std::string StopRule::Limit(int64_t epochs_done, int64_t steps_done, absl::Duration elapsed) const {
  if (options_.max_epochs > 0 && epochs_done >= options_.max_epochs)
    return absl::StrCat("max_epochs=", options_.max_epochs);
  if (options_.max_steps >= 0 && steps_done >= options_.max_steps) {
    return absl::StrCat("max_steps=", options_.max_steps);
  }
  if (elapsed >= options_.max_time) return absl::StrCat("max_time=", absl::FormatDuration(options_.max_time));
  return "";
}

std::string StopRule::Early(int64_t epochs_done, int64_t steps_done) const {
  if (epochs_done < options_.min_epochs || steps_done < options_.min_steps) return "";
  if (options_.patience > 0 && bad_ >= options_.patience) {
    return absl::StrCat("no improvement in ", bad_, " validations (best ", best_, ")");
  }
  const auto better = [this](double a, double b) { return maximize_ ? a > b : a < b; };
  // A threshold that is not set, and the time before the first validation, compare as false (NaN).
  if (better(options_.divergence_threshold, last_)) {
    return absl::StrCat("divergence_threshold=", options_.divergence_threshold, " is passed (", last_, ")");
  }
  if (last_ == options_.stopping_threshold || better(last_, options_.stopping_threshold)) {
    return absl::StrCat("stopping_threshold=", options_.stopping_threshold, " is reached (", last_, ")");
  }
  return "";
}

NamedTensors StopRule::State() const {
  NamedTensors state;
  state.Set("stopping", Tensor::Of<double>({best_, static_cast<double>(bad_)}, {2}));
  state.Set("value", Tensor::Scalar<double>(last_));
  return state;
}

absl::Status StopRule::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "stopping", Tensor::Zeros(DType::kF64, {2})));
  const auto values = state.At("stopping").values<double>();
  best_ = values[0];
  bad_ = static_cast<int64_t>(values[1]);
  if (!state.Has("value")) return absl::OkStatus();  // runs of 0.1.0 did not write it
  RETURN_IF_ERROR(CheckStateTensor(state, "value", Tensor::Scalar<double>(0)));
  last_ = state.At("value").values<double>()[0];
  return absl::OkStatus();
}

}  // namespace rutile
