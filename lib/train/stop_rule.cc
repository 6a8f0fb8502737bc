#include "lib/train/stop_rule.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/train/state_tensor.h"

namespace rutile {

absl::Status CheckStopOptions(const StopOptions& options) {
  if (options.max_epochs < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_epochs is ", options.max_epochs, ", expected 1 or more"));
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
  return absl::OkStatus();
}

StopRule::StopRule(const StopOptions& options) : options_(options) {}

void StopRule::Observe(double loss) {
  if (loss < best_ - options_.min_delta) {
    best_ = loss;
    bad_ = 0;
  } else {
    ++bad_;
  }
}

std::string StopRule::AfterStep(int64_t steps_done, absl::Duration elapsed) const {
  if (options_.max_steps >= 0 && steps_done >= options_.max_steps)
    return absl::StrCat("max_steps=", options_.max_steps);
  if (elapsed >= options_.max_time) return absl::StrCat("max_time=", absl::FormatDuration(options_.max_time));
  return "";
}

std::string StopRule::AfterEpoch(int64_t epochs_done) const {
  if (epochs_done >= options_.max_epochs) return absl::StrCat("max_epochs=", options_.max_epochs);
  if (options_.patience > 0 && bad_ >= options_.patience) {
    return absl::StrCat("no improvement in ", bad_, " validations (best ", best_, ")");
  }
  return "";
}

NamedTensors StopRule::State() const {
  NamedTensors state;
  state.Set("stopping", Tensor::Of<double>({best_, static_cast<double>(bad_)}, {2}));
  return state;
}

absl::Status StopRule::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "stopping", Tensor::Zeros(DType::kF64, {2})));
  const auto values = state.At("stopping").values<double>();
  best_ = values[0];
  bad_ = static_cast<int64_t>(values[1]);
  return absl::OkStatus();
}

}  // namespace rutile
