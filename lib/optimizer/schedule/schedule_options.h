// What a learning-rate schedule is told, and what a schedule that spans the run needs to know of the run.

#ifndef RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_OPTIONS_H_
#define RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"
#include "lib/base/settings.h"

namespace rutile {

enum class ScheduleKind {
  kConstant,
  kStep,
  kMultistep,
  kExponential,
  kLinear,
  kCosine,
  kCosineRestarts,
  kPolynomial,
  kOneCycle,
  kPlateau,
};

inline constexpr absl::string_view kScheduleWords[] = {"constant",  "step",   "multistep",       "exponential",
                                                       "linear",    "cosine", "cosine_restarts", "polynomial",
                                                       "one_cycle", "plateau"};
inline constexpr EnumNames<ScheduleKind> kScheduleNames("no lr schedule", kScheduleWords);

// How one-cycle goes from one rate to the next.
enum class Anneal { kCosine, kLinear };

inline constexpr absl::string_view kAnnealWords[] = {"cos", "linear"};
inline constexpr EnumNames<Anneal> kAnnealNames("one_cycle cannot anneal by", kAnnealWords);

// t counts epochs from 0, or optimizer steps from 0 when per_step. lr is the optimizer's learning rate, min is
// min_learning_rate (or lr, where that is lower), T is `period`.
//   constant         lr
//   step             lr factor^floor(t / T)                                                StepLR
//   multistep        lr factor^(milestones that are <= t)                                  MultiStepLR
//   exponential      lr factor^t                                                           ExponentialLR
//   linear           lr (start_factor + (end_factor - start_factor) t / T); then it stays  LinearLR
//   cosine           min + (lr - min) (1 + cos(pi t / T)) / 2; then min                    CosineAnnealingLR
//   cosine_restarts  the same, starting again after T, then after T period_mult, ...       CosineAnnealingWarmRestarts
//   polynomial       min + (lr - min) (1 - t / T)^power; then min                          PolynomialLR
//   one_cycle        from lr / div_factor up to lr in the first pct_start of T, then down to
//                    lr / div_factor / final_div_factor in the last of T                   OneCycleLR, two phases;
//                    momentum and betas stay as they are (cycle_momentum=False)
//   plateau          lr factor each time the loss has not improved by the relative `threshold` for more than `patience`
//                    validations in a row; then `cooldown` validations are not counted     ReduceLROnPlateau
// step, multistep, exponential, linear and plateau are cut off at min from below. A factor is above 0 and at most 1, of
// plateau below 1; that of exponential may be up to 10: then the rate grows, as in a learning-rate range test.
//
// Warm-up multiplies the result in the first warmup_steps steps by
//   warmup_start + (1 - warmup_start) step / warmup_steps                                   LinearLR
// Cool-down replaces it in the last cooldown_steps steps of the run, N, by a line to min that ends with the run of L
// steps:
//   min + (r - min) (L - step) / N, where r is the schedule's rate at step L - N (plateau's: now)
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kConstant;
  bool per_step = false;
  double factor = 0.1;
  int64_t period = 0;               // step, cosine_restarts: needed. linear, cosine, polynomial, one_cycle: 0 means the
                                    // run, or what the cool-down leaves of it
  int64_t period_mult = 1;          // cosine_restarts
  std::vector<int64_t> milestones;  // multistep; rising
  double start_factor = 1;          // linear
  double end_factor = 0;
  double power = 0.9;      // polynomial
  double pct_start = 0.3;  // one_cycle
  double div_factor = 25;  // one_cycle
  double final_div_factor = 1e4;
  Anneal anneal = Anneal::kCosine;
  double min_learning_rate = 0;  // not used by one_cycle, nor by constant without cool-down
  int64_t warmup_steps = 0;
  int64_t warmup_epochs = 0;  // instead of warmup_steps
  double warmup_start = 1.0 / 3;
  int64_t cooldown_steps = 0;
  int64_t cooldown_epochs = 0;  // instead of cooldown_steps
  int64_t patience = 10;        // plateau
  double threshold = 1e-4;
  int64_t cooldown = 0;
  bool maximize = false;  // plateau: a higher value is better (mode="max")

  // ResolveSchedule's: where the cool-down begins. -1: there is none.
  int64_t cooldown_from_step = -1;
  int64_t cooldown_from_epoch = -1;
};

// One row for each option: its flag, range, which schedules use it, and what resuming demands.
absl::Span<const Setting<ScheduleOptions>> ScheduleSettings();

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckScheduleOptions(const ScheduleOptions& options);

// The options with all that depends on the length of the run: period, warmup_steps and cool-down, so that nothing is
// left in epochs that is counted in steps. max_epochs, max_steps: -1 for no limit; the lower limit counts.
// steps_per_epoch: optimizer steps (after accumulation; 1 for L-BFGS).
// INVALID_ARGUMENT when a schedule spans the run and its length is not known, or a cool-down is not shorter than it.
absl::StatusOr<ScheduleOptions> ResolveSchedule(ScheduleOptions options, int64_t max_epochs, int64_t max_steps,
                                                int64_t steps_per_epoch);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_SCHEDULE_SCHEDULE_OPTIONS_H_
