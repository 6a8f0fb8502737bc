#include "lib/train/options/validation_rule.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/duration_text.h"
#include "lib/base/settings.h"
#include "lib/base/share.h"
#include "lib/base/status_macros.h"

namespace rutile {
namespace {

using O = ValidationOptions;

bool IsTimed(const O& options) { return options.every_time < absl::InfiniteDuration(); }
bool CountsEpochs(const O& options) { return options.every_steps == 0 && !IsTimed(options); }

SettingValue RecordInterval(const O& options) {
  if (IsTimed(options)) return DurationText(options.every_time);
  if (options.every_steps > 0) return options.every_steps;
  return options.fraction;
}

SettingValue GetInterval(const O& options) {
  if (CountsEpochs(options) && options.fraction == 1) return std::string("1.0");
  return SettingText(RecordInterval(options));
}

absl::Status SetInterval(absl::string_view text, O* options) {
  O parsed;
  parsed.every_epochs = options->every_epochs;
  const bool is_number = text.find_first_not_of("0123456789.e-") == absl::string_view::npos;
  if (absl::SimpleAtoi(text, &parsed.every_steps) && parsed.every_steps >= 1) {
    *options = parsed;
    return absl::OkStatus();
  }
  parsed.every_steps = 0;
  if (is_number && absl::SimpleAtod(text, &parsed.fraction) && parsed.fraction > 0 && parsed.fraction <= 1) {
    *options = parsed;
    return absl::OkStatus();
  }
  parsed.fraction = 1;
  const absl::StatusOr<absl::Duration> time = ParseDurationText(text);
  if (is_number || !time.ok()) {
    return absl::InvalidArgumentError(
        "expected a share of an epoch with a dot (0.25), a number of steps (500), or a time (DD:HH:MM:SS, 10m)");
  }
  parsed.every_time = *time;
  *options = parsed;
  return absl::OkStatus();
}

}  // namespace

absl::Span<const Setting<ValidationOptions>> ValidationSettings() {
  // Checkpoints hold only what is not the default: runs of versions without these settings can be resumed.
  static constexpr Setting<O> kSettings[] = {
      Setting<O>("check_val_every_n_epoch", &O::every_epochs, "Validate every N epochs, and at the end of the run.")
          .In(AtLeast(1))
          .Needs("val_check_interval", CountsEpochs)
          .RecordedIf([](const O& options) { return options.every_epochs > 1; }),
      Setting<O>::Text(
          "val_check_interval", GetInterval, SetInterval,
          "How often to validate: a share of an epoch, a number of steps, or a time. A share has a dot (0.25), a "
          "number of optimizer steps has none (500), and a time is written as 10m or DD:HH:MM:SS. Each epoch's end "
          "is validated, too, with a share, but not with steps or a time.")
          .RecordedIf([](const O& options) { return !CountsEpochs(options) || options.fraction < 1; })
          .RecordedAs(RecordInterval),
  };
  return kSettings;
}

absl::Status CheckValidationOptions(const ValidationOptions& options) {
  RETURN_IF_ERROR(CheckRanges(ValidationSettings(), options));
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
