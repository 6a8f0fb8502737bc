// The learning rate of each step, in closed form: nothing accumulates, so any step can be asked for, and resuming needs
// no state. Reduce-on-plateau alone remembers what it saw.
//
// The values are those of torch.optim.lr_scheduler in Python (LibTorch's own StepLR is one step off).

#ifndef RUTILE_LIB_TRAIN_SCHEDULE_H_
#define RUTILE_LIB_TRAIN_SCHEDULE_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

enum class ScheduleKind { kConstant, kStep, kExponential, kCosine, kPlateau };

absl::string_view ScheduleName(ScheduleKind kind);                       // "constant", "step", ...
absl::StatusOr<ScheduleKind> ParseScheduleKind(absl::string_view name);  // INVALID_ARGUMENT naming the choices

// t counts epochs from 0, or optimiser steps from 0 when per_step.
//   constant     lr
//   step         lr * factor^floor(t / period)                          StepLR
//   exponential  lr * factor^t                                          ExponentialLR
//   cosine       min + (lr - min) (1 + cos(pi t / period)) / 2          CosineAnnealingLR; stays at min after `period`
//   plateau      lr * factor each time the loss has not improved by the relative `threshold` for more than `patience`
//                validations in a row; then `cooldown` validations are not counted   ReduceLROnPlateau(mode="min")
// All but constant never go below min_learning_rate. Warm-up multiplies the result during the first warmup_steps steps
// by warmup_start + (1 - warmup_start) * step / warmup_steps             LinearLR
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::kConstant;
  bool per_step = false;
  double factor = 0.1;
  int64_t period = 0;  // step: needed; cosine: 0 means the whole run
  double min_learning_rate = 0;
  int64_t warmup_steps = 0;
  double warmup_start = 1.0 / 3;
  int64_t patience = 10;
  double threshold = 1e-4;
  int64_t cooldown = 0;
};

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckScheduleOptions(const ScheduleOptions& options);

class Schedule {
 public:
  // options have passed the check, and a cosine has its period.
  Schedule(const ScheduleOptions& options, double learning_rate);

  // Of the optimiser step `step` in epoch `epoch`, both from 0.
  double LearningRate(int64_t epoch, int64_t step) const;

  // Called once per validation with the monitored loss; changes plateau alone.
  void Observe(double loss);

  // plateau: f64 [4] = learning rate, best loss, bad validations in a row, validations left to cool down.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);  // INVALID_ARGUMENT: missing, or another shape

 private:
  const ScheduleOptions options_;
  const double learning_rate_;
  double plateau_rate_;
  double best_ = std::numeric_limits<double>::infinity();
  int64_t bad_ = 0;
  int64_t cooldown_left_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_SCHEDULE_H_
