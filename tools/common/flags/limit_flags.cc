#include "tools/common/flags/limit_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/duration_flag.h"
#include "tools/common/run/given_flags.h"

DEFINE_int64(
    max_epochs, 1000,
    "Stop after this many passes over the training examples. A resumed run goes on counting; -1 means no limit.");
DEFINE_int64(max_steps, -1, "Stop after this many optimizer steps. A resumed run goes on counting; -1 means no limit.");
DEFINE_string(max_time, "",
              "Stop this process after this time, as in 1h30m or DD:HH:MM:SS. If empty, there is no limit.");
DEFINE_int64(patience, 0,
             "Stop after this many validations without improvement. They must follow each other, and validations "
             "count, not epochs; 0 disables early stopping of this kind.");
DEFINE_double(min_delta, 0,
              "Smallest change that counts as an improvement, with --patience. It is a change of the monitored value.");
DEFINE_int64(min_epochs, 0,
             "Number of epochs before which early stopping does not end the run. The limits --max_epochs, --max_steps "
             "and --max_time still apply.");
DEFINE_int64(min_steps, 0,
             "Number of optimizer steps before which early stopping does not end the run. The limits --max_epochs, "
             "--max_steps and --max_time still apply.");
DEFINE_double(divergence_threshold, std::numeric_limits<double>::quiet_NaN(),
              "Stop once the monitored value is worse than this. With nan, there is no such threshold.");
DEFINE_double(stopping_threshold, std::numeric_limits<double>::quiet_NaN(),
              "Stop once the monitored value is as good as this. With nan, there is no such threshold.");

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
