// The settings of all optimizers (--optimizer and the flags that go with it): names, ranges and defaults.

#ifndef RUTILE_LIB_OPTIMIZER_OPTIMIZER_OPTIONS_H_
#define RUTILE_LIB_OPTIMIZER_OPTIMIZER_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"
#include "lib/base/settings.h"

namespace rutile {

enum class OptimizerKind { kAdam, kAdamW, kSgd, kLbfgs, kRmsprop, kAdagrad, kScheduleFreeAdamW, kRowwiseAdagrad };

inline constexpr absl::string_view kOptimizerWords[] = {
    "adam", "adamw", "sgd", "lbfgs", "rmsprop", "adagrad", "schedule-free-adamw", "rowwise-adagrad"};
inline constexpr EnumNames<OptimizerKind> kOptimizerNames("no optimizer", kOptimizerWords);

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 1e-3;
  // Adam, AdamW, schedule-free AdamW: there beta1 is the share of the average in the point that gradients are taken at.
  double beta1 = 0.9;
  double beta2 = 0.999;
  // Adam, AdamW: divides by the largest mean of squares so far, not by the last one.
  bool amsgrad = false;
  // Added to the root of the mean square (to the root of the sum: Adagrad, also row-wise).
  double epsilon = 1e-8;
  // AdamW: shrinks the parameters, learning rate * weight_decay each step; schedule-free AdamW: the same, of the point
  // that gradients are taken at. Others: added to the gradient, times the parameters (L2).
  double weight_decay = 0;
  // SGD, RMSprop.
  double momentum = 0;
  // SGD.
  double dampening = 0;
  bool nesterov = false;
  // RMSprop: decay of the mean of squared gradients; centered: the squared mean is taken off it.
  double alpha = 0.99;
  bool centered = false;
  // Adagrad, row-wise or not: learning rate / (1 + lr_decay t) in step t (from 0), and what the sums of squares begin
  // with.
  double lr_decay = 0;
  double initial_accumulator = 0;
  // Schedule-free AdamW: step t (from 1) counts t^step_power * (highest learning rate so far)^lr_power in the average.
  double weight_step_power = 0;
  double weight_lr_power = 2;
  // L-BFGS, strong Wolfe line search.
  int64_t history_size = 100;
  double tolerance_gradient = 1e-7;  // of the largest component
  double tolerance_change = 1e-9;    // of parameters and loss
};

// The defaults of that optimizer in PyTorch: learning rate 1e-3 (Adam, AdamW), 1e-2 (SGD, RMSprop, Adagrad, row-wise or
// not), 1 (L-BFGS); weight decay 1e-2 for AdamW, else 0; epsilon 1e-10 for both kinds of Adagrad. Of schedule-free
// AdamW those of its authors' package: learning rate 2.5e-3.
OptimizerOptions DefaultOptimizerOptions(OptimizerKind kind);
absl::StatusOr<OptimizerOptions> DefaultOptimizerOptions(
    absl::string_view name);  // INVALID_ARGUMENT naming the choices

// One row for each option: its flag, range, which optimizers use it, and what resuming demands.
absl::Span<const Setting<OptimizerOptions>> OptimizerSettings();

// Sets the option named so ("momentum", but for "optimizer", and those of lbfgs alone) from text. INVALID_ARGUMENT: no
// such option, one that the optimizer does not use, no number, or no true or false. Ranges are CheckOptimizerOptions'
// matter.
absl::Status SetOptimizerOption(absl::string_view option, absl::string_view text, OptimizerOptions* options);

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckOptimizerOptions(const OptimizerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_OPTIMIZER_OPTIONS_H_
