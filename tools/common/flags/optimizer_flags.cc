#include "tools/common/flags/optimizer_flags.h"

#include <gflags/gflags.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(optimizer, "adam",
              "adam, adamw, sgd, rmsprop, adagrad, schedule-free-adamw, or lbfgs (which takes all examples at once).");
DEFINE_double(learning_rate, 0,
              "Step size. 0: the optimizer's default, 0.001 (adam, adamw), 0.01 (sgd, rmsprop, adagrad), 0.0025 "
              "(schedule-free-adamw), 1 (lbfgs).");
DEFINE_double(weight_decay, -1,
              "Added to the gradient (adam, sgd, rmsprop, adagrad) or shrinking the parameters (adamw, "
              "schedule-free-adamw). -1: the default, 0.01 (adamw), else 0.");
DEFINE_bool(weight_decay_biases, true, "Biases and norms decay, too; else weights alone.");
DEFINE_bool(
    lazy_rows, false,
    "Rows of embedding tables without a gradient in a step stay as they are, and their averages, too; else they "
    "go on moving (dense).");
DEFINE_double(
    beta1, 0.9,
    "Decay of the mean of gradients (adam, adamw); share of the average in the point that gradients are taken "
    "at (schedule-free-adamw).");
DEFINE_double(beta2, 0.999, "Decay of the mean of squared gradients (adam, adamw, schedule-free-adamw).");
DEFINE_double(epsilon, -1,
              "Added to the root of the mean square, or of the sum (adagrad). -1: the default, 1e-10 (adagrad), else "
              "1e-8.");
DEFINE_double(momentum, 0, "Share of the last step that is kept (sgd, rmsprop).");
DEFINE_bool(nesterov, false, "Nesterov's momentum (sgd).");
DEFINE_double(alpha, 0.99, "Decay of the mean of squared gradients (rmsprop).");
DEFINE_bool(centered, false, "Divide by the root of the variance, not of the mean square (rmsprop).");
DEFINE_double(lr_decay, 0, "The rate in step t, from 0, is divided by 1 + lr_decay t (adagrad).");
DEFINE_double(initial_accumulator, 0, "What the sums of squared gradients begin with (adagrad).");
DEFINE_int32(history_size, 100, "Steps that L-BFGS remembers.");
DEFINE_string(
    parameter_groups, "",
    "Parameters that are trained otherwise: GLOB:OPTION=VALUE,... of names of parameters, groups separated by "
    "\";\". The first glob that fits counts. Options: optimizer, lr_scale (times --learning_rate), and the "
    "flags of the optimizer.");
DEFINE_int64(alternate_groups, 0,
             "Groups take turns of so many steps, those that --parameter_groups leaves last; the others rest. 0: all "
             "move in each step.");

namespace rutile {

absl::StatusOr<OptimizerOptions> OptimizerOptionsFromFlags() {
  ASSIGN_OR_RETURN(OptimizerOptions options, DefaultOptimizerOptions(FLAGS_optimizer));
  const auto used = [&](const char* option) { return std::make_pair(option, UsesOption(options.kind, option)); };
  const bool lbfgs = options.kind == OptimizerKind::kLbfgs;
  if (FlagGiven("alpha") && !UsesOption(options.kind, "alpha")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--alpha has no effect with --optimizer=", FLAGS_optimizer,
                     ": it is rmsprop's; aenet's alpha, the weight of forces, is --force_weight"));
  }
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--optimizer=", FLAGS_optimizer), {used("weight_decay"),
                                                                               used("beta1"),
                                                                               used("beta2"),
                                                                               used("epsilon"),
                                                                               used("momentum"),
                                                                               used("nesterov"),
                                                                               used("alpha"),
                                                                               used("centered"),
                                                                               used("lr_decay"),
                                                                               used("initial_accumulator"),
                                                                               used("history_size"),
                                                                               {"weight_decay_biases", !lbfgs},
                                                                               {"lazy_rows", !lbfgs},
                                                                               {"parameter_groups", !lbfgs},
                                                                               {"alternate_groups", !lbfgs},
                                                                               {"batch_size", !lbfgs}}));
  if (FLAGS_learning_rate != 0) options.learning_rate = FLAGS_learning_rate;
  if (FLAGS_weight_decay != -1) options.weight_decay = FLAGS_weight_decay;
  if (FLAGS_epsilon != -1) options.epsilon = FLAGS_epsilon;
  options.beta1 = FLAGS_beta1;
  options.beta2 = FLAGS_beta2;
  options.momentum = FLAGS_momentum;
  options.nesterov = FLAGS_nesterov;
  options.alpha = FLAGS_alpha;
  options.centered = FLAGS_centered;
  options.lr_decay = FLAGS_lr_decay;
  options.initial_accumulator = FLAGS_initial_accumulator;
  options.history_size = FLAGS_history_size;
  RETURN_IF_ERROR(CheckOptimizerOptions(options));
  return options;
}

absl::StatusOr<ParameterGroupOptions> ParameterGroupOptionsFromFlags(const OptimizerOptions& run) {
  ParameterGroupOptions options;
  ASSIGN_OR_RETURN(options.groups, ParseParameterGroups(FLAGS_parameter_groups, run));
  options.alternate_steps = FLAGS_alternate_groups;
  options.decay_biases = FLAGS_weight_decay_biases;
  options.lazy_rows = FLAGS_lazy_rows;
  RETURN_IF_ERROR(CheckParameterGroupOptions(options, run));
  return options;
}

}  // namespace rutile
