#include "lib/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/train/state_tensor.h"

namespace rutile {
namespace {

constexpr absl::string_view kNames[] = {"constant", "step", "exponential", "cosine", "plateau"};  // as ScheduleKind
constexpr double kSmallestChange = 1e-8;  // "eps" of ReduceLROnPlateau: a smaller reduction is not made

absl::Status Require(bool ok, absl::string_view option, double value, absl::string_view range) {
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lr schedule: ", option, " is ", value, ", expected ", range));
}

}  // namespace

absl::string_view ScheduleName(ScheduleKind kind) { return kNames[static_cast<int>(kind)]; }

absl::StatusOr<ScheduleKind> ParseScheduleKind(absl::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found != std::end(kNames)) return static_cast<ScheduleKind>(found - std::begin(kNames));
  return absl::InvalidArgumentError(
      absl::StrCat("no lr schedule \"", name, "\"; the choices are constant, step, exponential, cosine, plateau"));
}

absl::Status CheckScheduleOptions(const ScheduleOptions& options) {
  const bool uses_factor = options.kind == ScheduleKind::kStep || options.kind == ScheduleKind::kExponential ||
                           options.kind == ScheduleKind::kPlateau;
  if (uses_factor) {
    RETURN_IF_ERROR(Require(options.factor > 0 && options.factor <= 1, "factor", options.factor, "0 < factor <= 1"));
  }
  if (options.kind == ScheduleKind::kPlateau) {
    RETURN_IF_ERROR(Require(options.factor < 1, "factor", options.factor, "below 1"));
  }
  if (options.kind == ScheduleKind::kStep) {
    RETURN_IF_ERROR(Require(options.period >= 1, "period", options.period, "1 or more"));
  }
  RETURN_IF_ERROR(Require(options.period >= 0, "period", options.period, "0 or more"));
  RETURN_IF_ERROR(Require(options.min_learning_rate >= 0 && std::isfinite(options.min_learning_rate),
                          "min_learning_rate", options.min_learning_rate, "0 or more"));
  RETURN_IF_ERROR(Require(options.warmup_steps >= 0, "warmup_steps", options.warmup_steps, "0 or more"));
  RETURN_IF_ERROR(
      Require(options.warmup_start >= 0 && options.warmup_start <= 1, "warmup_start", options.warmup_start, "0 to 1"));
  RETURN_IF_ERROR(Require(options.patience >= 0, "patience", options.patience, "0 or more"));
  RETURN_IF_ERROR(
      Require(options.threshold >= 0 && options.threshold < 1, "threshold", options.threshold, "0 <= threshold < 1"));
  return Require(options.cooldown >= 0, "cooldown", options.cooldown, "0 or more");
}

Schedule::Schedule(const ScheduleOptions& options, double learning_rate)
    : options_(options), learning_rate_(learning_rate), plateau_rate_(learning_rate) {}

double Schedule::LearningRate(int64_t epoch, int64_t step) const {
  const double t = static_cast<double>(options_.per_step ? step : epoch);
  const double period = static_cast<double>(options_.period);
  // A rate that starts below the floor stays where it is.
  const double floor = std::min(options_.min_learning_rate, learning_rate_);
  double rate = learning_rate_;
  switch (options_.kind) {
    case ScheduleKind::kConstant:
      break;
    case ScheduleKind::kStep:
      rate = std::max(floor, learning_rate_ * std::pow(options_.factor, std::floor(t / period)));
      break;
    case ScheduleKind::kExponential:
      rate = std::max(floor, learning_rate_ * std::pow(options_.factor, t));
      break;
    case ScheduleKind::kCosine:
      rate = t >= period ? floor : floor + (learning_rate_ - floor) * (1 + std::cos(M_PI * t / period)) / 2;
      break;
    case ScheduleKind::kPlateau:
      rate = plateau_rate_;
      break;
  }
  if (step < options_.warmup_steps) {
    const double done = static_cast<double>(step) / static_cast<double>(options_.warmup_steps);
    rate *= options_.warmup_start + (1 - options_.warmup_start) * done;
  }
  return rate;
}

void Schedule::Observe(double loss) {
  if (options_.kind != ScheduleKind::kPlateau) return;
  if (loss < best_ * (1 - options_.threshold)) {
    best_ = loss;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_ = 0;
  }
  if (bad_ <= options_.patience) return;
  const double reduced = std::max(plateau_rate_ * options_.factor, options_.min_learning_rate);
  if (plateau_rate_ - reduced > kSmallestChange) plateau_rate_ = reduced;
  cooldown_left_ = options_.cooldown;
  bad_ = 0;
}

NamedTensors Schedule::State() const {
  NamedTensors state;
  state.Set(
      "plateau",
      Tensor::Of<double>({plateau_rate_, best_, static_cast<double>(bad_), static_cast<double>(cooldown_left_)}, {4}));
  return state;
}

absl::Status Schedule::SetState(const NamedTensors& state) {
  RETURN_IF_ERROR(CheckStateTensor(state, "plateau", Tensor::Zeros(DType::kF64, {4})));
  const auto values = state.At("plateau").values<double>();
  plateau_rate_ = values[0];
  best_ = values[1];
  bad_ = static_cast<int64_t>(values[2]);
  cooldown_left_ = static_cast<int64_t>(values[3]);
  return absl::OkStatus();
}

}  // namespace rutile
