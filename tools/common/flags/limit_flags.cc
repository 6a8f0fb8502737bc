#include "tools/common/flags/limit_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/duration_flag.h"
#include "tools/common/run/given_flags.h"

DEFINE_int64(max_epochs, 1000, "Stop after this many passes over the training examples. -1: no limit.");
DEFINE_int64(max_steps, -1, "Stop after this many optimizer steps. -1: no limit.");
DEFINE_string(max_time, "", "Stop after this time: DD:HH:MM:SS, or as 1h30m. Empty: no limit.");
DEFINE_int64(patience, 0, "Stop after this many validations without a better loss. 0: never.");
DEFINE_double(min_delta, 0, "By how much a loss must be lower to count as better (with --patience).");
DEFINE_int64(min_epochs, 0, "Early stopping waits for so many epochs.");
DEFINE_int64(min_steps, 0, "Early stopping waits for so many optimizer steps.");
DEFINE_double(divergence_threshold, std::numeric_limits<double>::quiet_NaN(),
              "Stop once the monitored value is worse than this. nan: never.");
DEFINE_double(stopping_threshold, std::numeric_limits<double>::quiet_NaN(),
              "Stop once the monitored value is as good as this. nan: never.");

namespace rutile {

absl::StatusOr<StopOptions> StopOptionsFromFlags() {
  StopOptions options;
  options.max_epochs = FLAGS_max_epochs;
  options.max_steps = FLAGS_max_steps;
  options.patience = FLAGS_patience;
  options.min_delta = FLAGS_min_delta;
  if (FLAGS_patience == 0 && FlagGiven("min_delta")) {
    return absl::InvalidArgumentError("--min_delta has no effect without --patience: give both or leave it out");
  }
  options.min_epochs = FLAGS_min_epochs;
  options.min_steps = FLAGS_min_steps;
  options.divergence_threshold = FLAGS_divergence_threshold;
  options.stopping_threshold = FLAGS_stopping_threshold;
  if (options.patience == 0 && std::isnan(options.divergence_threshold) && std::isnan(options.stopping_threshold)) {
    RETURN_IF_ERROR(
        RefuseFlags("without early stopping: give --patience, --divergence_threshold or "
                    "--stopping_threshold, or",
                    {"min_epochs", "min_steps"}));
  }
  if (!FLAGS_max_time.empty()) {
    ASSIGN_OR_RETURN(options.max_time, ParseDurationFlag("max_time", FLAGS_max_time));
  }
  RETURN_IF_ERROR(CheckStopOptions(options));
  return options;
}

}  // namespace rutile
