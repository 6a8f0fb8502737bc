#include "lib/train/options/validation_rule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "lib/base/share.h"

namespace rutile {

absl::Status CheckValidationOptions(const ValidationOptions& options) {
  if (options.every_epochs < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("check_val_every_n_epoch is ", options.every_epochs, ", expected 1 or more"));
  }
  if (!(options.fraction > 0 && options.fraction <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("val_check_interval is ", options.fraction, ", expected a share above 0 and up to 1.0"));
  }
  if (options.every_steps < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("val_check_interval is ", options.every_steps, " steps, expected 1 or more"));
  }
  if (options.every_time <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("val_check_interval is ", absl::FormatDuration(options.every_time), ", expected a time above 0"));
  }
  const bool steps = options.every_steps > 0, time = options.every_time < absl::InfiniteDuration();
  if ((options.fraction < 1) + steps + time > 1) {
    return absl::InvalidArgumentError("val_check_interval is a share, steps or a time: give one of them");
  }
  if (options.every_epochs > 1 && (steps || time)) {
    return absl::InvalidArgumentError(
        absl::StrCat("check_val_every_n_epoch=", options.every_epochs,
                     " has no effect with a val_check_interval in steps or time, which does not look at epochs"));
  }
  return absl::OkStatus();
}

ValidationRule::ValidationRule(const ValidationOptions& options, int64_t steps_per_epoch) : options_(options) {
  if (options.fraction == 1) return;
  interval_ = std::max<int64_t>(1, ShareOf(options.fraction, steps_per_epoch));
}

bool ValidationRule::AfterStep(int64_t epoch, int64_t epoch_steps, int64_t step, absl::Duration since_last) const {
  if (options_.every_steps > 0) return step % options_.every_steps == 0;
  if (timed()) return since_last >= options_.every_time;
  return interval_ > 0 && (epoch + 1) % options_.every_epochs == 0 && epoch_steps % interval_ == 0;
}

bool ValidationRule::AfterEpoch(int64_t epochs, int64_t step, absl::Duration since_last) const {
  if (options_.every_steps > 0) return step % options_.every_steps == 0;
  if (timed()) return since_last >= options_.every_time;
  return epochs % options_.every_epochs == 0;
}

}  // namespace rutile
