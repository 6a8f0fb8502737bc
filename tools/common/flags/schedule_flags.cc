#include "tools/common/flags/schedule_flags.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(
    lr_scheduler, "constant",
    "constant, step, multistep, exponential, linear, cosine, cosine_restarts, polynomial, one_cycle or plateau.");
DEFINE_string(lr_interval, "auto", "What a schedule counts: epoch, step, or auto (step for one_cycle, else epoch).");
DEFINE_double(lr_factor, 0.1, "Factor of step, multistep, exponential and plateau.");
DEFINE_int64(
    lr_period, 0,
    "Of --lr_interval: between drops (step), of the first cycle (cosine_restarts), or until the last rate (linear, "
    "cosine, polynomial, one_cycle; 0: the whole run).");
DEFINE_int64(lr_period_mult, 1, "How many times longer each cycle is than the one before (cosine_restarts).");
DEFINE_string(lr_milestones, "", "Where the rate drops (multistep): 30,60, of --lr_interval.");
DEFINE_double(lr_start_factor, 1, "Factor at the start (linear).");
DEFINE_double(lr_end_factor, 0, "Factor at the end (linear).");
DEFINE_double(lr_power, 0.9, "Power of polynomial.");
DEFINE_double(lr_pct_start, 0.3, "Share of the period in which the rate rises (one_cycle).");
DEFINE_double(lr_div_factor, 25, "Learning rate by the rate at the start (one_cycle).");
DEFINE_double(lr_final_div_factor, 1e4, "Rate at the start by the rate at the end (one_cycle).");
DEFINE_string(lr_anneal, "cos", "How one_cycle goes between its rates: cos or linear.");
DEFINE_double(min_learning_rate, 0, "No schedule goes below it (one_cycle excepted), and the cool-down ends there.");
DEFINE_int64(lr_patience, 10, "Validations without improvement after which plateau lowers the rate.");
DEFINE_double(lr_threshold, 1e-4, "Relative improvement that counts as one (plateau).");
DEFINE_int64(lr_plateau_cooldown, 0, "Validations after a reduction that do not count (plateau).");
DEFINE_int64(lr_cooldown_epochs, 0, "Last epochs of the run, in which the rate falls linearly to --min_learning_rate.");
DEFINE_int64(lr_cooldown_steps, 0, "The same in optimizer steps.");
DEFINE_int64(warmup_steps, 0, "Optimizer steps over which the rate rises linearly, from --warmup_start of its value.");
DEFINE_int64(warmup_epochs, 0, "The same in epochs.");
DEFINE_double(warmup_start, 1.0 / 3, "Share of the rate that warm-up starts with.");

namespace rutile {
namespace {

absl::StatusOr<bool> PerStep(ScheduleKind kind) {
  const absl::string_view interval = FLAGS_lr_interval;
  if (interval == "auto") return kind == ScheduleKind::kOneCycle;
  if (interval == "step" || interval == "epoch") return interval == "step";
  return absl::InvalidArgumentError(absl::StrCat("--lr_interval=", interval, ": expected auto, epoch or step"));
}

absl::StatusOr<std::vector<int64_t>> Milestones() {
  std::vector<int64_t> milestones;
  if (FLAGS_lr_milestones.empty()) return milestones;
  for (const absl::string_view text : absl::StrSplit(FLAGS_lr_milestones, ',')) {
    int64_t milestone = 0;
    if (!absl::SimpleAtoi(text, &milestone)) {
      return absl::InvalidArgumentError(absl::StrCat("--lr_milestones=", FLAGS_lr_milestones, ": \"", text,
                                                     "\" is no whole number; expected a list as 30,60"));
    }
    milestones.push_back(milestone);
  }
  return milestones;
}

absl::Status RefuseInVain(ScheduleKind kind) {
  const auto is_one_of = [kind](std::initializer_list<ScheduleKind> kinds) {
    for (const ScheduleKind other : kinds) {
      if (kind == other) return true;
    }
    return false;
  };
  using K = ScheduleKind;
  const bool cools_down = FLAGS_lr_cooldown_epochs > 0 || FLAGS_lr_cooldown_steps > 0;
  const bool one_cycle = kind == K::kOneCycle, plateau = kind == K::kPlateau, linear = kind == K::kLinear;
  RETURN_IF_ERROR(RefuseUnused(
      absl::StrCat("--lr_scheduler=", FLAGS_lr_scheduler),
      {{"lr_interval", !is_one_of({K::kConstant, K::kPlateau})},
       {"lr_factor", is_one_of({K::kStep, K::kMultistep, K::kExponential, K::kPlateau})},
       {"lr_period", is_one_of({K::kStep, K::kLinear, K::kCosine, K::kCosineRestarts, K::kPolynomial, K::kOneCycle})},
       {"lr_period_mult", kind == K::kCosineRestarts},
       {"lr_milestones", kind == K::kMultistep},
       {"lr_start_factor", linear},
       {"lr_end_factor", linear},
       {"lr_power", kind == K::kPolynomial},
       {"lr_pct_start", one_cycle},
       {"lr_div_factor", one_cycle},
       {"lr_final_div_factor", one_cycle},
       {"lr_anneal", one_cycle},
       {"min_learning_rate", cools_down || !is_one_of({K::kConstant, K::kOneCycle})},
       {"lr_patience", plateau},
       {"lr_threshold", plateau},
       {"lr_plateau_cooldown", plateau}}));
  if (FLAGS_warmup_steps > 0 || FLAGS_warmup_epochs > 0) return absl::OkStatus();
  return RefuseFlags("without --warmup_steps or --warmup_epochs", {"warmup_start"});
}

}  // namespace

absl::StatusOr<ScheduleOptions> ScheduleOptionsFromFlags() {
  ScheduleOptions options;
  ASSIGN_OR_RETURN(options.kind, ParseScheduleKind(FLAGS_lr_scheduler));
  RETURN_IF_ERROR(RefuseInVain(options.kind));
  ASSIGN_OR_RETURN(options.per_step, PerStep(options.kind));
  options.factor = FLAGS_lr_factor;
  options.period = FLAGS_lr_period;
  options.period_mult = FLAGS_lr_period_mult;
  ASSIGN_OR_RETURN(options.milestones, Milestones());
  options.start_factor = FLAGS_lr_start_factor;
  options.end_factor = FLAGS_lr_end_factor;
  options.power = FLAGS_lr_power;
  options.pct_start = FLAGS_lr_pct_start;
  options.div_factor = FLAGS_lr_div_factor;
  options.final_div_factor = FLAGS_lr_final_div_factor;
  ASSIGN_OR_RETURN(options.anneal, ParseAnneal(FLAGS_lr_anneal));
  options.min_learning_rate = FLAGS_min_learning_rate;
  options.patience = FLAGS_lr_patience;
  options.threshold = FLAGS_lr_threshold;
  options.cooldown = FLAGS_lr_plateau_cooldown;
  options.cooldown_epochs = FLAGS_lr_cooldown_epochs;
  options.cooldown_steps = FLAGS_lr_cooldown_steps;
  options.warmup_steps = FLAGS_warmup_steps;
  options.warmup_epochs = FLAGS_warmup_epochs;
  options.warmup_start = FLAGS_warmup_start;
  RETURN_IF_ERROR(CheckScheduleOptions(options));
  return options;
}

}  // namespace rutile
