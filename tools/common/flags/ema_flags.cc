#include "tools/common/flags/ema_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_bool(ema, false, "Validate, and write as model, the exponential moving average of the parameters.");
DEFINE_double(ema_decay, 0.999, "Share of the average that an update keeps.");
DEFINE_string(
    ema_decay_type, "threshold",
    "How the decay rises to --ema_decay: constant (at once), threshold (with the updates done) or exp (with the "
    "share of the run that is done).");
DEFINE_double(ema_beta, 15, "How fast it rises (--ema_decay_type=exp).");
DEFINE_int64(ema_start_step, 0, "Optimizer steps before which there is no average.");
DEFINE_int64(ema_update_every_n_steps, 1, "Optimizer steps from one update of the average to the next.");

namespace rutile {

absl::StatusOr<std::optional<EmaOptions>> EmaOptionsFromFlags() {
  if (!FLAGS_ema) {
    RETURN_IF_ERROR(RefuseFlags(
        "without --ema", {"ema_decay", "ema_decay_type", "ema_beta", "ema_start_step", "ema_update_every_n_steps"}));
    return std::optional<EmaOptions>();
  }
  EmaOptions options;
  ASSIGN_OR_RETURN(options.type, ParseEmaDecay(FLAGS_ema_decay_type));
  RETURN_IF_ERROR(RefuseUnused(absl::StrCat("--ema_decay_type=", FLAGS_ema_decay_type),
                               {{"ema_beta", options.type == EmaDecay::kExponential}}));
  options.decay = FLAGS_ema_decay;
  options.beta = FLAGS_ema_beta;
  options.start_step = FLAGS_ema_start_step;
  options.update_every_n_steps = FLAGS_ema_update_every_n_steps;
  RETURN_IF_ERROR(CheckEmaOptions(options));
  return std::optional<EmaOptions>(options);
}

}  // namespace rutile
