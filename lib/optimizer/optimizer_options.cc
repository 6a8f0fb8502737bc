#include "lib/optimizer/optimizer_options.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

using O = OptimizerOptions;

constexpr unsigned Bit(OptimizerKind kind) { return 1u << static_cast<int>(kind); }
constexpr unsigned kAdams =
    Bit(OptimizerKind::kAdam) | Bit(OptimizerKind::kAdamW) | Bit(OptimizerKind::kScheduleFreeAdamW);
constexpr unsigned kPlainAdams = Bit(OptimizerKind::kAdam) | Bit(OptimizerKind::kAdamW);
constexpr unsigned kSgd = Bit(OptimizerKind::kSgd);
constexpr unsigned kRmsprop = Bit(OptimizerKind::kRmsprop);
constexpr unsigned kAdagrad = Bit(OptimizerKind::kAdagrad) | Bit(OptimizerKind::kRowwiseAdagrad);
constexpr unsigned kFree = Bit(OptimizerKind::kScheduleFreeAdamW);
constexpr unsigned kLbfgs = Bit(OptimizerKind::kLbfgs);
constexpr unsigned kFirstOrder = kAdams | kSgd | kRmsprop | kAdagrad;

template <unsigned kKinds>
bool IsOneOf(const O& options) {
  return (kKinds & Bit(options.kind)) != 0;
}

// Parameter groups have options of their own for these optimizers.
bool IsForGroups(const Setting<O>& row) {
  const auto has_effect = [&](OptimizerKind kind) { return row.HasEffect(DefaultOptimizerOptions(kind)); };
  return row.name != absl::string_view("optimizer") &&
         (has_effect(OptimizerKind::kAdam) || has_effect(OptimizerKind::kSgd) || has_effect(OptimizerKind::kRmsprop) ||
          has_effect(OptimizerKind::kAdagrad) || has_effect(OptimizerKind::kScheduleFreeAdamW));
}

}  // namespace

absl::Span<const Setting<OptimizerOptions>> OptimizerSettings() {
  static constexpr RunPart kMoments = RunPart::kOptimizer;
  static constexpr char kBy[] = "optimizer", kNoFlag[] = "which no flag sets";
  static constexpr Setting<O> kSettings[] = {
      Setting<O>::Choice<&O::kind, &kOptimizerNames>(
          "optimizer",
          "Optimizer: adam, adamw, sgd, rmsprop, adagrad, rowwise-adagrad, schedule-free-adamw or lbfgs. All but the "
          "last "
          "three equal those of torch.optim to rounding, and the last takes all examples at once. rowwise-adagrad has "
          "one number for each row of an embedding table, in place of one for each of its numbers.")
          .Resetting(kMoments),
      Setting<O>("learning_rate", &O::learning_rate,
                 "Step size; 0 means the optimizer's default. The defaults are 0.01 (adam and adamw; on triples 0.003, "
                 "or 0.001 with tiepin), 0.01 (sgd, rmsprop, adagrad, rowwise-adagrad), 0.0025 (schedule-free-adamw) "
                 "and 1 (lbfgs).")
          .In(Above(0))
          .Automatic("0")
          .MayChange(),
      Setting<O>("weight_decay", &O::weight_decay,
                 "Strength of weight decay. It is added to the gradient, times the parameters (adam, sgd, rmsprop, "
                 "adagrad, rowwise-adagrad), or shrinks the parameters by learning rate times weight decay in each "
                 "step (adamw, "
                 "schedule-free-adamw). With -1, it is 0.01 for adamw, else 0; lbfgs has none.")
          .In(AtLeast(0))
          .Automatic("-1")
          .Needs(kBy, IsOneOf<kFirstOrder>),
      Setting<O>("beta1", &O::beta1,
                 "Decay of the mean of gradients (adam, adamw). For schedule-free-adamw it is the share of the "
                 "average, above 0, in the point at which gradients are taken.")
          .In(AtLeast(0).Below(1))
          .Needs(kBy, IsOneOf<kAdams>),
      Setting<O>("beta2", &O::beta2, "Decay of the mean of squared gradients (adam, adamw, schedule-free-adamw).")
          .In(AtLeast(0).Below(1))
          .Needs(kBy, IsOneOf<kAdams>),
      Setting<O>("amsgrad", &O::amsgrad,
                 "Divide by the root of the largest mean of squared gradients so far (adam, adamw). Steps then never "
                 "grow again where gradients have become small; it takes one more number for each parameter.")
          .Needs(kBy, IsOneOf<kPlainAdams>)
          .RecordedIf([](const O& options) { return options.amsgrad && IsOneOf<kPlainAdams>(options); })
          .Resetting(kMoments),
      Setting<O>("epsilon", &O::epsilon,
                 "Number added to the root of the mean square, or of the sum (adagrad). With -1, it is 1e-10 for "
                 "adagrad and rowwise-adagrad, else 1e-8; sgd has none.")
          .In(AtLeast(0))
          .Automatic("-1")
          .Needs(kBy, IsOneOf<kAdams | kRmsprop | kAdagrad>),
      Setting<O>("momentum", &O::momentum, "Share of the last step that the next one keeps (sgd, rmsprop).")
          .In(AtLeast(0).Below(1))
          .Needs(kBy, IsOneOf<kSgd | kRmsprop>)
          .Resetting(kMoments),
      Setting<O>("dampening", &O::dampening, "Share of the gradient that does not join the momentum (sgd).")
          .In(AtLeast(0).AtMost(1))
          .Derived(kNoFlag)
          .Needs(kBy, IsOneOf<kSgd>),
      Setting<O>("nesterov", &O::nesterov, "Use Nesterov's momentum (sgd).")
          .Needs(kBy, IsOneOf<kSgd>)
          .Resetting(kMoments),
      Setting<O>("alpha", &O::alpha, "Decay of the mean of squared gradients (rmsprop).")
          .In(AtLeast(0).Below(1))
          .Needs(kBy, IsOneOf<kRmsprop>),
      Setting<O>("centered", &O::centered, "Divide by the root of the variance, not of the mean square (rmsprop).")
          .Needs(kBy, IsOneOf<kRmsprop>)
          .Resetting(kMoments),
      Setting<O>("lr_decay", &O::lr_decay,
                 "Decay of the learning rate (adagrad, rowwise-adagrad). The rate in step t, from 0, is divided by 1 + "
                 "lr_decay t.")
          .In(AtLeast(0))
          .Needs(kBy, IsOneOf<kAdagrad>),
      Setting<O>("initial_accumulator", &O::initial_accumulator,
                 "Initial value of the sums of squared gradients (adagrad, rowwise-adagrad).")
          .In(AtLeast(0))
          .Needs(kBy, IsOneOf<kAdagrad>),
      Setting<O>("weight_step_power", &O::weight_step_power,
                 "Power of the step in the average's weights (schedule-free-adamw).")
          .In(AtLeast(0))
          .Derived(kNoFlag)
          .Needs(kBy, IsOneOf<kFree>),
      Setting<O>("weight_lr_power", &O::weight_lr_power,
                 "Power of the highest learning rate so far in the average's weights (schedule-free-adamw).")
          .In(AtLeast(0))
          .Derived(kNoFlag)
          .Needs(kBy, IsOneOf<kFree>),
      Setting<O>("history_size", &O::history_size, "Number of steps that L-BFGS remembers.")
          .In(AtLeast(1))
          .Needs(kBy, IsOneOf<kLbfgs>)
          .Resetting(kMoments),
      Setting<O>("tolerance_gradient", &O::tolerance_gradient,
                 "L-BFGS ends where no component of the gradient is larger.")
          .Derived(kNoFlag)
          .Needs(kBy, IsOneOf<kLbfgs>),
      Setting<O>("tolerance_change", &O::tolerance_change, "L-BFGS ends where parameters and loss change by no more.")
          .Derived(kNoFlag)
          .Needs(kBy, IsOneOf<kLbfgs>),
  };
  return kSettings;
}

OptimizerOptions DefaultOptimizerOptions(OptimizerKind kind) {
  OptimizerOptions options;
  options.kind = kind;
  const unsigned bit = Bit(kind);
  if (kind == OptimizerKind::kAdamW) options.weight_decay = 1e-2;
  if (bit & (kSgd | kRmsprop | kAdagrad)) options.learning_rate = 1e-2;
  if (bit & kAdagrad) options.epsilon = 1e-10;
  if (bit & kFree) options.learning_rate = 2.5e-3;
  if (bit & kLbfgs) options.learning_rate = 1;
  return options;
}

absl::StatusOr<OptimizerOptions> DefaultOptimizerOptions(absl::string_view name) {
  ASSIGN_OR_RETURN(const OptimizerKind kind, kOptimizerNames.Parse(name));
  return DefaultOptimizerOptions(kind);
}

absl::Status SetOptimizerOption(absl::string_view option, absl::string_view text, OptimizerOptions* options) {
  const Setting<O>* found = FindSetting(OptimizerSettings(), option);
  if (found == nullptr || !IsForGroups(*found)) {
    std::string known = "optimizer";
    for (const Setting<O>& row : OptimizerSettings()) {
      if (IsForGroups(row)) absl::StrAppend(&known, ", ", row.name);
    }
    return absl::InvalidArgumentError(absl::StrCat("no option \"", option, "\"; there are ", known));
  }
  if (!found->HasEffect(*options)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " has no effect with ", kOptimizerNames.Name(options->kind), ": leave it out"));
  }
  return found->Set(text, options);
}

absl::Status CheckOptimizerOptions(const OptimizerOptions& options) {
  RETURN_IF_ERROR(CheckRanges(OptimizerSettings(), options));
  if (options.kind == OptimizerKind::kScheduleFreeAdamW && options.beta1 == 0) {
    return absl::InvalidArgumentError("beta1 is 0, expected above 0 with schedule-free-adamw");
  }
  if (options.nesterov && options.momentum == 0) {
    return absl::InvalidArgumentError("nesterov needs momentum above 0, as in --momentum=0.9");
  }
  if (options.nesterov && options.dampening != 0) {  // which --parameter_groups alone can set
    return absl::InvalidArgumentError(
        absl::StrCat("dampening is ", options.dampening, ", expected 0 with nesterov; leave one of them out"));
  }
  if (options.kind == OptimizerKind::kLbfgs && options.weight_decay != 0) {
    return absl::InvalidArgumentError("weight_decay does not go with lbfgs; choose adamw or sgd, or pass 0");
  }
  return absl::OkStatus();
}

}  // namespace rutile
