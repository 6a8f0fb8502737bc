#include "lib/train/options/stop_rule.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/duration_text.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/tensorfile/state_tensor.h"

namespace rutile {

namespace {

using O = StopOptions;

bool HasPatience(const O& options) { return options.patience > 0; }

bool StopsEarly(const O& options) {
  return HasPatience(options) || !std::isnan(options.divergence_threshold) || !std::isnan(options.stopping_threshold);
}

bool Always(const O&) { return true; }

SettingValue GetMaxTime(const O& options) { return DurationText(options.max_time); }
SettingValue RecordMaxTime(const O& options) { return absl::FormatDuration(options.max_time); }

absl::Status SetMaxTime(absl::string_view text, O* options) {
  options->max_time = absl::InfiniteDuration();
  if (text.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(options->max_time, ParseDurationText(text));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const Setting<StopOptions>> StopSettings() {
  static constexpr char kEarly[] = "patience,divergence_threshold,stopping_threshold";
  static constexpr Range kLimit = AtLeast(1).Or(-1, "no limit");
  static constexpr Setting<O> kSettings[] = {
      // The first two rows are LengthSettings.
      Setting<O>(
          "max_epochs", &O::max_epochs,
          "Stop after this many passes over the training examples. A resumed run goes on counting; -1 means no limit. "
          "Runs of many-body potentials, and of embedding models but conve, have 200 (50 with --kge_recipe=n3) unless "
          "this or --max_steps is "
          "given, and keep what they began with.")
          .In(kLimit)
          .Once("ema_max_epochs")
          .NotCompared(),
      Setting<O>("max_steps", &O::max_steps,
                 "Stop after this many optimizer steps. A resumed run goes on counting; -1 means no limit.")
          .In(kLimit)
          .Once("ema_max_steps")
          .NotCompared(),
      Setting<O>::Text("max_time", GetMaxTime, SetMaxTime,
                       "Stop this process after this time, as in 1h30m or DD:HH:MM:SS. If empty, there is no limit.")
          .RecordedAs(RecordMaxTime)
          .NotCompared(),
      Setting<O>("patience", &O::patience,
                 "Stop after this many validations without improvement. They must follow each other, and validations "
                 "count, not epochs; 0 disables early stopping of this kind.")
          .In(AtLeast(0))
          .NotCompared(),
      Setting<O>(
          "min_delta", &O::min_delta,
          "Smallest change that counts as an improvement, with --patience. It is a change of the monitored value.")
          .In(AtLeast(0))
          .NeedsOneOf("patience", HasPatience)
          .RecordedIf(Always)
          .NotCompared(),
      Setting<O>("min_epochs", &O::min_epochs,
                 "Number of epochs before which early stopping does not end the run. The limits --max_epochs, "
                 "--max_steps and --max_time still apply.")
          .In(AtLeast(0))
          .NeedsOneOf(kEarly, StopsEarly)
          .RecordedIf(Always)
          .NotCompared(),
      Setting<O>("min_steps", &O::min_steps,
                 "Number of optimizer steps before which early stopping does not end the run. The limits "
                 "--max_epochs, --max_steps and --max_time still apply.")
          .In(AtLeast(0))
          .NeedsOneOf(kEarly, StopsEarly)
          .RecordedIf(Always)
          .NotCompared(),
      Setting<O>("divergence_threshold", &O::divergence_threshold,
                 "Stop once the monitored value is worse than this. With nan, there is no such threshold.")
          .RecordedIf([](const O& options) { return !std::isnan(options.divergence_threshold); })
          .NotCompared(),
      Setting<O>("stopping_threshold", &O::stopping_threshold,
                 "Stop once the monitored value is as good as this. With nan, there is no such threshold.")
          .RecordedIf([](const O& options) { return !std::isnan(options.stopping_threshold); })
          .NotCompared(),
  };
  return kSettings;
}

absl::Span<const Setting<StopOptions>> LengthSettings() { return StopSettings().first(2); }

absl::Status CheckStopOptions(const StopOptions& options) {
  RETURN_IF_ERROR(CheckRanges(StopSettings(), options));
  if (options.max_time <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_time is ", absl::FormatDuration(options.max_time), ", expected a time above 0"));
  }
  if (options.max_epochs > 0 && options.min_epochs > options.max_epochs) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_epochs is ", options.min_epochs, ", expected no more than max_epochs, ", options.max_epochs));
  }
  if (options.max_steps > 0 && options.min_steps > options.max_steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_steps is ", options.min_steps, ", expected no more than max_steps, ", options.max_steps));
  }
  for (const auto& [name, value] : {std::make_pair("divergence_threshold", options.divergence_threshold),
                                    std::make_pair("stopping_threshold", options.stopping_threshold)}) {
    if (!std::isinf(value)) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, ", expected a number, or nan for none"));
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
  if (options_.max_epochs > 0 && epochs_done >= options_.max_epochs) {
    return absl::StrCat("max_epochs=", options_.max_epochs);
  }
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
