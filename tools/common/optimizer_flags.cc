#include "tools/common/optimizer_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/given_flags.h"

DEFINE_string(optimizer, "adam", "adam, adamw, sgd or lbfgs (which takes all examples at once).");
DEFINE_double(learning_rate, 0, "Step size. 0: the optimiser's default, 0.001 (adam, adamw), 0.01 (sgd), 1 (lbfgs).");
DEFINE_double(
    weight_decay, -1,
    "Added to the gradient (adam, sgd) or shrinking the parameters (adamw). -1: the default, 0.01 (adamw), else 0.");
DEFINE_double(beta1, 0.9, "Decay of the mean of gradients (adam, adamw).");
DEFINE_double(beta2, 0.999, "Decay of the mean of squared gradients (adam, adamw).");
DEFINE_double(epsilon, 1e-8, "Added to the root of the mean square (adam, adamw).");
DEFINE_double(momentum, 0, "Share of the last step that is kept (sgd).");
DEFINE_bool(nesterov, false, "Nesterov's momentum (sgd).");
DEFINE_int32(history_size, 100, "Steps that L-BFGS remembers.");

namespace rutile {

absl::StatusOr<OptimizerOptions> OptimizerOptionsFromFlags() {
  ASSIGN_OR_RETURN(OptimizerOptions options, DefaultOptimizerOptions(FLAGS_optimizer));
  const bool adam = options.kind == OptimizerKind::kAdam || options.kind == OptimizerKind::kAdamW;
  const bool sgd = options.kind == OptimizerKind::kSgd;
  const bool lbfgs = options.kind == OptimizerKind::kLbfgs;
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--optimizer=", FLAGS_optimizer), {{"beta1", adam},
                                                                               {"beta2", adam},
                                                                               {"epsilon", adam},
                                                                               {"momentum", sgd},
                                                                               {"nesterov", sgd},
                                                                               {"weight_decay", !lbfgs},
                                                                               {"history_size", lbfgs},
                                                                               {"batch_size", !lbfgs}}));
  if (FLAGS_learning_rate != 0) options.learning_rate = FLAGS_learning_rate;
  if (FLAGS_weight_decay != -1) options.weight_decay = FLAGS_weight_decay;
  options.beta1 = FLAGS_beta1;
  options.beta2 = FLAGS_beta2;
  options.epsilon = FLAGS_epsilon;
  options.momentum = FLAGS_momentum;
  options.nesterov = FLAGS_nesterov;
  options.history_size = FLAGS_history_size;
  RETURN_IF_ERROR(CheckOptimizerOptions(options));
  return options;
}

}  // namespace rutile
