#include "tools/common/flags/validation_flags.h"

#include <gflags/gflags.h>

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "tools/common/flags/duration_flag.h"

DEFINE_int64(check_val_every_n_epoch, 1, "Validate every N epochs, and at the end of the run.");
DEFINE_string(val_check_interval, "1.0",
              "How often to validate: a share of an epoch, a number of steps, or a time. A share has a dot (0.25), a "
              "number of optimizer steps has none (500), and a time is written as 10m or DD:HH:MM:SS. Each epoch's end "
              "is validated, too, with a share, but not with steps or a time.");
DEFINE_string(
    limit_val_batches, "1.0",
    "Number (10) or share (0.1) of batches to validate on. They are the first ones; a number with a dot is a share.");
DEFINE_string(monitor, "",
              "Value that decides the best model, early stopping and plateau. It is val_loss, train_loss, or val_ and "
              "a metric of log.tsv, as in val_force_rmse or val_hits@10; more is better for val_mrr and val_hits@k. If "
              "empty, it is val_loss, on triples val_mrr, and train_loss without a validation set.");

namespace rutile {
namespace {

absl::Status ParseInterval(absl::string_view text, ValidationOptions* options) {
  int64_t steps;
  double fraction;
  if (absl::SimpleAtoi(text, &steps) && steps >= 1) {
    options->every_steps = steps;
    return absl::OkStatus();
  }
  const bool number = text.find_first_not_of("0123456789.") == absl::string_view::npos;
  if (number && absl::SimpleAtod(text, &fraction) && fraction > 0 && fraction <= 1) {
    options->fraction = fraction;
    return absl::OkStatus();
  }
  if (!number) {
    const absl::StatusOr<absl::Duration> time = ParseDurationFlag("val_check_interval", text);
    if (time.ok()) {
      options->every_time = *time;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--val_check_interval=", text,
      ": expected a share of an epoch with a dot (0.25), a number of steps (500), or a time (DD:HH:MM:SS, 10m)"));
}

}  // namespace

absl::Status ValidationOptionsFromFlags(TrainerOptions* options) {
  options->validation.every_epochs = FLAGS_check_val_every_n_epoch;
  RETURN_IF_ERROR(ParseInterval(FLAGS_val_check_interval, &options->validation));
  ASSIGN_OR_RETURN(options->limit_val_batches, ParseBatchLimit("--limit_val_batches", FLAGS_limit_val_batches));
  options->monitor = FLAGS_monitor;
  return CheckValidationOptions(options->validation);
}

}  // namespace rutile
