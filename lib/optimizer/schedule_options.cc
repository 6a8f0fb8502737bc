#include "lib/optimizer/schedule_options.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

constexpr absl::string_view kNames[] = {"constant",        "step",       "multistep", "exponential", "linear", "cosine",
                                        "cosine_restarts", "polynomial", "one_cycle", "plateau"};
constexpr absl::string_view kAnneals[] = {"cos", "linear"};

absl::Status Require(bool ok, absl::string_view option, double value, absl::string_view range) {
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lr schedule: ", option, " is ", value, ", expected ", range));
}

bool Within(double value, double low, double high) { return value >= low && value <= high; }
bool Positive(double value) { return value > 0 && std::isfinite(value); }

absl::Status CheckMilestones(const ScheduleOptions& options) {
  if (options.milestones.empty()) {
    return absl::InvalidArgumentError("lr schedule: multistep needs milestones, as in 30,60");
  }
  int64_t last = 0;
  for (const int64_t milestone : options.milestones) {
    if (milestone <= last) {
      return absl::InvalidArgumentError(absl::StrCat("lr schedule: milestones are ",
                                                     absl::StrJoin(options.milestones, ","),
                                                     ", expected rising numbers, 1 or more"));
    }
    last = milestone;
  }
  return absl::OkStatus();
}

// Those of one kind alone.
absl::Status CheckKind(const ScheduleOptions& options) {
  const auto factor = [&] {
    return Require(options.factor > 0 && options.factor <= 1, "factor", options.factor, "0 < factor <= 1");
  };
  const auto period = [&] { return Require(options.period >= 1, "period", options.period, "1 or more"); };
  switch (options.kind) {
    case ScheduleKind::kConstant:
    case ScheduleKind::kCosine:
      return absl::OkStatus();
    case ScheduleKind::kStep:
      RETURN_IF_ERROR(factor());
      return period();
    case ScheduleKind::kMultistep:
      RETURN_IF_ERROR(factor());
      return CheckMilestones(options);
    case ScheduleKind::kExponential:  // may grow, as a learning-rate range test does
      return Require(options.factor > 0 && options.factor <= 10, "factor", options.factor, "0 < factor <= 10");
    case ScheduleKind::kLinear:
      RETURN_IF_ERROR(Require(Within(options.start_factor, 0, 1), "start_factor", options.start_factor, "0 to 1"));
      return Require(Within(options.end_factor, 0, 1), "end_factor", options.end_factor, "0 to 1");
    case ScheduleKind::kCosineRestarts:
      RETURN_IF_ERROR(period());
      return Require(options.period_mult >= 1, "period_mult", options.period_mult, "1 or more");
    case ScheduleKind::kPolynomial:
      return Require(Positive(options.power), "power", options.power, "a number above 0");
    case ScheduleKind::kOneCycle:
      RETURN_IF_ERROR(Require(Within(options.pct_start, 0, 1), "pct_start", options.pct_start, "0 to 1"));
      RETURN_IF_ERROR(Require(Positive(options.div_factor), "div_factor", options.div_factor, "a number above 0"));
      return Require(Positive(options.final_div_factor), "final_div_factor", options.final_div_factor,
                     "a number above 0");
    case ScheduleKind::kPlateau:
      RETURN_IF_ERROR(factor());
      return Require(options.factor < 1, "factor", options.factor, "below 1");
  }
  return absl::InternalError("no such schedule");
}

// Counted in steps or in epochs: one of them.
absl::Status CheckRamp(absl::string_view name, int64_t steps, int64_t epochs) {
  RETURN_IF_ERROR(Require(steps >= 0, absl::StrCat(name, "_steps"), static_cast<double>(steps), "0 or more"));
  RETURN_IF_ERROR(Require(epochs >= 0, absl::StrCat(name, "_epochs"), static_cast<double>(epochs), "0 or more"));
  if (steps == 0 || epochs == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lr schedule: ", name, "_steps is ", steps, " and ", name,
                                                 "_epochs is ", epochs, ": give one of them"));
}

bool SpansRun(const ScheduleOptions& options) {
  return options.period == 0 && (options.kind == ScheduleKind::kLinear || options.kind == ScheduleKind::kCosine ||
                                 options.kind == ScheduleKind::kPolynomial || options.kind == ScheduleKind::kOneCycle);
}

int64_t RoundUp(int64_t steps, int64_t steps_per_epoch) {
  return steps / steps_per_epoch + (steps % steps_per_epoch > 0 ? 1 : 0);
}

// Of positive numbers; what is too large stays at the largest number.
int64_t Product(int64_t a, int64_t b) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  return a > kLargest / b ? kLargest : a * b;
}

}  // namespace

absl::string_view ScheduleName(ScheduleKind kind) { return kNames[static_cast<int>(kind)]; }

absl::StatusOr<ScheduleKind> ParseScheduleKind(absl::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found != std::end(kNames)) return static_cast<ScheduleKind>(found - std::begin(kNames));
  return absl::InvalidArgumentError(
      absl::StrCat("no lr schedule \"", name, "\"; the choices are ", absl::StrJoin(kNames, ", ")));
}

absl::string_view AnnealName(Anneal anneal) { return kAnneals[static_cast<int>(anneal)]; }

absl::StatusOr<Anneal> ParseAnneal(absl::string_view name) {
  const auto* found = std::find(std::begin(kAnneals), std::end(kAnneals), name);
  if (found != std::end(kAnneals)) return static_cast<Anneal>(found - std::begin(kAnneals));
  return absl::InvalidArgumentError(
      absl::StrCat("one_cycle cannot anneal by \"", name, "\"; the choices are ", absl::StrJoin(kAnneals, ", ")));
}

absl::Status CheckScheduleOptions(const ScheduleOptions& options) {
  RETURN_IF_ERROR(CheckKind(options));
  RETURN_IF_ERROR(Require(options.period >= 0, "period", static_cast<double>(options.period), "0 or more"));
  RETURN_IF_ERROR(Require(options.min_learning_rate >= 0 && std::isfinite(options.min_learning_rate),
                          "min_learning_rate", options.min_learning_rate, "0 or more"));
  RETURN_IF_ERROR(CheckRamp("warmup", options.warmup_steps, options.warmup_epochs));
  RETURN_IF_ERROR(Require(Within(options.warmup_start, 0, 1), "warmup_start", options.warmup_start, "0 to 1"));
  RETURN_IF_ERROR(CheckRamp("cooldown", options.cooldown_steps, options.cooldown_epochs));
  RETURN_IF_ERROR(Require(options.patience >= 0, "patience", static_cast<double>(options.patience), "0 or more"));
  RETURN_IF_ERROR(
      Require(options.threshold >= 0 && options.threshold < 1, "threshold", options.threshold, "0 <= threshold < 1"));
  return Require(options.cooldown >= 0, "cooldown", static_cast<double>(options.cooldown), "0 or more");
}

absl::StatusOr<ScheduleOptions> ResolveSchedule(ScheduleOptions options, int64_t max_epochs, int64_t max_steps,
                                                int64_t steps_per_epoch) {
  if (options.warmup_epochs > 0) {
    options.warmup_steps = Product(options.warmup_epochs, steps_per_epoch);
    options.warmup_epochs = 0;
  }
  if (options.cooldown_epochs > 0) {
    options.cooldown_steps = Product(options.cooldown_epochs, steps_per_epoch);
    options.cooldown_epochs = 0;
  }
  const bool spans_run = SpansRun(options);
  if (!spans_run && options.cooldown_steps == 0) return options;

  if (max_epochs < 0 && max_steps < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(spans_run ? ScheduleName(options.kind) : "the cool-down of the learning rate",
                     " needs the length of the run, which has no limit in epochs or steps: set max_epochs or max_steps",
                     spans_run ? ", or the schedule's period" : ""));
  }
  int64_t run_steps = std::numeric_limits<int64_t>::max();
  if (max_epochs >= 0) run_steps = Product(max_epochs, steps_per_epoch);
  if (max_steps >= 0) run_steps = std::min(run_steps, max_steps);
  if (options.cooldown_steps > 0) {
    if (options.cooldown_steps >= run_steps) {
      return absl::InvalidArgumentError(absl::StrCat("lr schedule: the cool-down takes ", options.cooldown_steps,
                                                     " steps, expected fewer than the ", run_steps, " of the run"));
    }
    options.cooldown_from_step = run_steps - options.cooldown_steps;
    options.cooldown_from_epoch = options.cooldown_from_step / steps_per_epoch;
  }
  if (spans_run) {
    const int64_t steps = run_steps - options.cooldown_steps;
    options.period = options.per_step ? steps : RoundUp(steps, steps_per_epoch);
  }
  return options;
}

}  // namespace rutile
