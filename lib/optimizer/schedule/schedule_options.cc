#include "lib/optimizer/schedule/schedule_options.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/decimal.h"
#include "lib/base/round_up.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

using K = ScheduleKind;
using O = ScheduleOptions;

constexpr char kWarmupStart[] = "warmup_start";

template <K... kKinds>
bool IsOneOf(const O& options) {
  return ((options.kind == kKinds) || ...);
}

template <K... kKinds>
bool IsNoneOf(const O& options) {
  return ((options.kind != kKinds) && ...);
}

bool CoolsDown(const O& options) { return options.cooldown_steps > 0 || options.cooldown_epochs > 0; }
bool WarmsUp(const O& options) { return options.warmup_steps > 0 || options.warmup_epochs > 0; }
bool Always(const O&) { return true; }
bool Never(const O&) { return false; }

SettingValue GetInterval(const O& options) { return std::string(options.per_step ? "step" : "epoch"); }

absl::Status SetInterval(absl::string_view text, O* options) {
  if (text != "step" && text != "epoch") return absl::InvalidArgumentError("expected auto, epoch or step");
  options->per_step = text == "step";
  return absl::OkStatus();
}

SettingValue GetMilestones(const O& options) { return absl::StrJoin(options.milestones, ","); }

absl::Status SetMilestones(absl::string_view text, O* options) {
  std::vector<int64_t> milestones;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    if (text.empty()) break;
    int64_t milestone = 0;
    if (!absl::SimpleAtoi(item, &milestone)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", item, "\" is no whole number; expected a list as 30,60"));
    }
    milestones.push_back(milestone);
  }
  options->milestones = std::move(milestones);
  return absl::OkStatus();
}

// A third has no decimals that a person would write.
SettingValue GetWarmupStart(const O& options) {
  return options.warmup_start == 1.0 / 3 ? "1/3" : ShortestDecimal(options.warmup_start);
}

absl::Status SetWarmupStart(absl::string_view text, O* options) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  double number = 0, divisor = 1;
  if (!absl::SimpleAtod(parts[0], &number) ||
      (parts.size() == 2 && (!absl::SimpleAtod(parts[1], &divisor) || !(divisor > 0)))) {
    return absl::InvalidArgumentError("expected a number (0.1) or a fraction (1/3)");
  }
  options->warmup_start = number / divisor;
  return absl::OkStatus();
}

SettingValue RecordWarmupStart(const O& options) { return options.warmup_start; }

// What checkpoints of older versions have in place of "step" and "epoch".
constexpr OldName::Value kPerStep[] = {{"true", "step"}, {"false", "epoch"}};

absl::Status Require(bool ok, absl::string_view option, double value, absl::string_view range) {
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", value, ", expected ", range));
}

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

// What one kind demands beyond the ranges of the table.
absl::Status CheckKind(const ScheduleOptions& options) {
  const auto period = [&] { return Require(options.period >= 1, "lr_period", options.period, "1 or more"); };
  // Only the exponential schedule may raise the rate, as a learning-rate range test does.
  const auto factor = [&] { return Require(options.factor <= 1, "lr_factor", options.factor, "0 < lr_factor <= 1"); };
  switch (options.kind) {
    case ScheduleKind::kStep:
      RETURN_IF_ERROR(factor());
      return period();
    case ScheduleKind::kMultistep:
      RETURN_IF_ERROR(factor());
      return CheckMilestones(options);
    case ScheduleKind::kCosineRestarts:
      return period();
    case ScheduleKind::kPlateau:
      RETURN_IF_ERROR(factor());
      return Require(options.factor < 1, "lr_factor", options.factor, "below 1");
    default:
      return absl::OkStatus();
  }
}

// Counted in steps or in epochs: one of them.
absl::Status CheckRamp(absl::string_view name, int64_t steps, int64_t epochs) {
  if (steps == 0 || epochs == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lr schedule: ", name, "_steps is ", steps, " and ", name,
                                                 "_epochs is ", epochs, ": give one of them"));
}

bool SpansRun(const ScheduleOptions& options) {
  return options.period == 0 && (options.kind == ScheduleKind::kLinear || options.kind == ScheduleKind::kCosine ||
                                 options.kind == ScheduleKind::kPolynomial || options.kind == ScheduleKind::kOneCycle);
}

// Of positive numbers; what is too large stays at the largest number.
int64_t Product(int64_t a, int64_t b) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  return a > kLargest / b ? kLargest : a * b;
}

}  // namespace

absl::Span<const Setting<ScheduleOptions>> ScheduleSettings() {
  static constexpr RunPart kSchedule = RunPart::kSchedule;
  static constexpr auto kIsSchedule = IsNoneOf<K::kConstant>;
  static constexpr auto kIsPlateau = IsOneOf<K::kPlateau>;
  static constexpr auto kIsOneCycle = IsOneOf<K::kOneCycle>;
  static constexpr char kBy[] = "lr_scheduler";
  // Older versions wrote some options of all schedules but constant, whether the schedule uses them or not.
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Choice<&O::kind, &kScheduleNames>(
          "lr_scheduler",
          "Learning-rate schedule; constant keeps the rate. The others are step, multistep, exponential, linear, "
          "cosine, cosine_restarts, polynomial, one_cycle and plateau. They have the values of PyTorch's schedulers; "
          "docs/training.md has their formulas. With auto, it is cosine for potentials, and constant on triples, with "
          "lbfgs and schedule-free-adamw, and where neither epochs nor steps end the run.")
          .Automatic("auto")
          .Resetting(kSchedule),
      Setting<O>::Text(
          "lr_interval", GetInterval, SetInterval,
          "Unit in which a schedule counts: epoch, step or auto. With auto, it is step for one_cycle, and "
          "for linear, cosine and polynomial where they take the whole run, of one or two epochs and 100 "
          "steps or more; otherwise it is epoch. A resumed run keeps its own. constant and plateau do not use it.")
          .Automatic("auto")
          .Needs(kBy, IsNoneOf<K::kConstant, K::kPlateau>)
          .RecordedIf(kIsSchedule)
          .Once("lr_per_step", kPerStep)
          .Resetting(kSchedule),
      Setting<O>("lr_factor", &O::factor,
                 "Factor of the schedules step, multistep, exponential and plateau. It is at most 1 (below 1 for "
                 "plateau), but exponential takes factors up to 10.")
          .In(Above(0).AtMost(10))
          .Needs(kBy, IsOneOf<K::kStep, K::kMultistep, K::kExponential, K::kPlateau>)
          .RecordedIf(kIsSchedule)
          .Resetting(kSchedule),
      Setting<O>(
          "lr_period", &O::period,
          "Schedule period, in units of --lr_interval. It is the time between drops (step), the length of the first "
          "cycle (cosine_restarts), or the time until the last rate (linear, cosine, polynomial, one_cycle). With 0, "
          "the last four take the whole run without its cool-down, which needs a limit in epochs or steps.")
          .In(AtLeast(0))
          .Needs(kBy, IsOneOf<K::kStep, K::kLinear, K::kCosine, K::kCosineRestarts, K::kPolynomial, K::kOneCycle>)
          .RecordedIf(kIsSchedule)
          .Resetting(kSchedule),
      Setting<O>("min_learning_rate", &O::min_learning_rate,
                 "Lowest learning rate of a schedule, and the end of a cool-down. Only one_cycle goes below it. It "
                 "must not exceed --learning_rate.")
          .In(AtLeast(0))
          .Needs(kBy, [](const O& o) { return CoolsDown(o) || IsNoneOf<K::kConstant, K::kOneCycle>(o); })
          .RecordedIf([](const O& o) { return o.cooldown_steps > 0 || kIsSchedule(o); })
          .MayChange(),
      Setting<O>("lr_patience", &O::patience,
                 "Number of validations without improvement after which plateau lowers the rate.")
          .In(AtLeast(0))
          .Needs(kBy, kIsPlateau)
          .Resetting(kSchedule),
      Setting<O>("lr_threshold", &O::threshold, "Smallest relative change that plateau counts as an improvement.")
          .In(AtLeast(0).Below(1))
          .Needs(kBy, kIsPlateau)
          .Resetting(kSchedule),
      Setting<O>("lr_plateau_cooldown", &O::cooldown,
                 "Number of validations that plateau ignores after it has lowered the rate.")
          .In(AtLeast(0))
          .Needs(kBy, kIsPlateau)
          .Once("lr_cooldown")
          .Resetting(kSchedule),
      Setting<O>("lr_maximize", &O::maximize, "A higher monitored value is better (plateau).")
          .Derived("which follows from monitor")
          .Needs(kBy, kIsPlateau)
          .RecordedIf([](const O& o) { return o.maximize && kIsPlateau(o); })
          .Resetting(kSchedule),
      Setting<O>::Text("lr_milestones", GetMilestones, SetMilestones,
                       "Times at which multistep lowers the rate, as in 30,60. They are in units of --lr_interval.")
          .Needs(kBy, IsOneOf<K::kMultistep>)
          .Resetting(kSchedule),
      Setting<O>("lr_start_factor", &O::start_factor,
                 "Factor of the learning rate at the start of the schedule linear.")
          .In(AtLeast(0).AtMost(1))
          .Needs(kBy, IsOneOf<K::kLinear>)
          .Resetting(kSchedule),
      Setting<O>("lr_end_factor", &O::end_factor, "Factor of the learning rate at the end of the schedule linear.")
          .In(AtLeast(0).AtMost(1))
          .Needs(kBy, IsOneOf<K::kLinear>)
          .Resetting(kSchedule),
      Setting<O>("lr_period_mult", &O::period_mult,
                 "Factor by which each cycle of cosine_restarts is longer than the one before.")
          .In(AtLeast(1))
          .Needs(kBy, IsOneOf<K::kCosineRestarts>)
          .Resetting(kSchedule),
      Setting<O>("lr_power", &O::power, "Exponent of the schedule polynomial. PyTorch's default is 1.")
          .In(Above(0))
          .Needs(kBy, IsOneOf<K::kPolynomial>)
          .Resetting(kSchedule),
      Setting<O>("lr_pct_start", &O::pct_start, "Share of --lr_period in which the rate of one_cycle rises.")
          .In(AtLeast(0).AtMost(1))
          .Needs(kBy, kIsOneCycle)
          .Resetting(kSchedule),
      Setting<O>("lr_div_factor", &O::div_factor, "Learning rate divided by the rate at the start of one_cycle.")
          .In(Above(0))
          .Needs(kBy, kIsOneCycle)
          .Resetting(kSchedule),
      Setting<O>("lr_final_div_factor", &O::final_div_factor,
                 "Rate at the start of one_cycle divided by the rate at its end.")
          .In(Above(0))
          .Needs(kBy, kIsOneCycle)
          .Resetting(kSchedule),
      Setting<O>::Choice<&O::anneal, &kAnnealNames>("lr_anneal",
                                                    "Form in which one_cycle changes its rate: cos or linear.")
          .Needs(kBy, kIsOneCycle)
          .Resetting(kSchedule),
      Setting<O>("lr_cooldown_steps", &O::cooldown_steps,
                 "Length of the cool-down, in steps at the end of the run. In each of them the rate falls linearly "
                 "towards --min_learning_rate. A cool-down follows any schedule and needs a limit in epochs or steps. "
                 "Give it or --lr_cooldown_epochs.")
          .In(AtLeast(0))
          .RecordedIf([](const O& o) { return o.cooldown_steps > 0; })
          .Resetting(kSchedule),
      Setting<O>("lr_cooldown_epochs", &O::cooldown_epochs,
                 "Length of the cool-down, in epochs at the end of the run. In each of its steps the rate falls "
                 "linearly towards --min_learning_rate. A cool-down follows any schedule and needs a limit in epochs "
                 "or steps. Give it or --lr_cooldown_steps.")
          .In(AtLeast(0))
          .RecordedIf(Never),  // ResolveSchedule has made steps of them
      Setting<O>("lr_cooldown_from_step", &O::cooldown_from_step, "Where the cool-down begins.")
          .Derived("which follows from max_epochs, max_steps and lr_cooldown_steps")
          .RecordedIf([](const O& o) { return o.cooldown_steps > 0; })
          .Resetting(kSchedule),
      Setting<O>("warmup_steps", &O::warmup_steps,
                 "Length of warm-up, in optimizer steps. The rate of the schedule is multiplied by a factor that rises "
                 "linearly from --warmup_start to 1. Warm-up must not exceed the steps of the run, unless with "
                 "--resume. Give it or --warmup_epochs.")
          .In(AtLeast(0)),
      Setting<O>("warmup_epochs", &O::warmup_epochs,
                 "Length of warm-up, in epochs. The rate of the schedule is multiplied by a factor that rises "
                 "linearly, step by step, from --warmup_start to 1. Warm-up must not exceed the epochs of the run, "
                 "unless with --resume. Give it or --warmup_steps.")
          .In(AtLeast(0))
          .RecordedIf(Never),
      Setting<O>::Text(kWarmupStart, GetWarmupStart, SetWarmupStart,
                       "Share of the learning rate that warm-up starts with, as a number (0.1) or a fraction (1/3).")
          .In(AtLeast(0).AtMost(1))
          .RecordedAs(RecordWarmupStart)
          .NeedsOneOf("warmup_steps,warmup_epochs", WarmsUp)
          .RecordedIf(Always),
  };
  return kSettings;
}

absl::Status CheckScheduleOptions(const ScheduleOptions& options) {
  RETURN_IF_ERROR(CheckRanges(ScheduleSettings(), options));
  // A fraction's row shows a text, which has no range.
  RETURN_IF_ERROR(CheckRange(*FindSetting(ScheduleSettings(), kWarmupStart), options.warmup_start));
  RETURN_IF_ERROR(CheckKind(options));
  RETURN_IF_ERROR(CheckRamp("warmup", options.warmup_steps, options.warmup_epochs));
  return CheckRamp("lr_cooldown", options.cooldown_steps, options.cooldown_epochs);
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
        absl::StrCat(spans_run ? kScheduleNames.Name(options.kind) : "the cool-down of the learning rate",
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
    options.period = options.per_step ? steps : CeilDivide(steps, steps_per_epoch);
  }
  return options;
}

}  // namespace rutile
