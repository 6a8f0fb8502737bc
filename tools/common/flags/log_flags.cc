#include "tools/common/flags/log_flags.h"

#include <gflags/gflags.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(logger, "tsv,jsonl", "Formats of the logs: tsv (log.tsv), jsonl (log.jsonl), both, or none.");
DEFINE_int64(log_every_n_steps, 0,
             "Write a row to steps.tsv and steps.jsonl every N optimizer steps. It holds the loss of the step's "
             "batches, the learning rate, the norm of the gradient before clipping and the seconds since the session's "
             "first step, and costs about 5 microseconds. With 0, there are no such files.");

namespace rutile {

absl::StatusOr<LogOptions> LogOptionsFromFlags(RunFiles files) {
  LogOptions options;
  if (files != RunFiles::kAll) {
    RETURN_IF_ERROR(RefuseFlags(files == RunFiles::kAtEnd ? "with --barebones, which writes no log"
                                                          : "with --fast_dev_run, which writes nothing",
                                {"logger", "log_every_n_steps"}));
    return options;
  }
  absl::StatusOr<std::vector<LogFormat>> formats = ParseLogFormats(FLAGS_logger);
  if (!formats.ok()) return absl::InvalidArgumentError(absl::StrCat("--logger: ", formats.status().message()));
  options.formats = *std::move(formats);
  if (FLAGS_log_every_n_steps < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_every_n_steps=", FLAGS_log_every_n_steps, ": expected 0 (none) or more"));
  }
  RETURN_IF_ERROR(RefuseUnused("--logger=none", {{"log_every_n_steps", !options.formats.empty()}}));
  options.every_n_steps = FLAGS_log_every_n_steps;
  return options;
}

}  // namespace rutile
