// Decides when the validation set is evaluated.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_VALIDATION_RULE_H_
#define RUTILE_LIB_TRAIN_OPTIONS_VALIDATION_RULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"

namespace rutile {

// When to validate: by default after each epoch. At most one of the three intervals may be set:
//   fraction     after every floor(fraction * steps of an epoch) steps of an epoch, at least one, and at its end; in
//                every every_epochs-th epoch
//   every_steps  after every every_steps optimizer steps of the run, wherever epochs end
//   every_time   at the first step that is every_time after the last validation or the start of the session; since this
//                depends on the clock, it differs from run to run
// With the last two, ends of epochs do not validate. The end of the run always does. All intervals count optimizer
// steps. (Lightning counts batches, which differ under gradient accumulation.)
struct ValidationOptions {
  int64_t every_epochs = 1;
  double fraction = 1;
  int64_t every_steps = 0;  // 0: off
  absl::Duration every_time = absl::InfiniteDuration();
};

// One row for each flag: check_val_every_n_epoch, and val_check_interval, which sets one of the three intervals.
absl::Span<const Setting<ValidationOptions>> ValidationSettings();

// INVALID_ARGUMENT naming the option, its value and its range, or the two that exclude each other.
absl::Status CheckValidationOptions(const ValidationOptions& options);

// Evaluates ValidationOptions during a run.
class ValidationRule {
 public:
  // `options` must have passed the check. steps_per_epoch: 1 or more.
  ValidationRule(const ValidationOptions& options, int64_t steps_per_epoch);

  // True if a validation is due inside epoch `epoch` (from 0), after its first `epoch_steps` steps and step `step` of
  // the run. since_last: time since the last validation.
  bool AfterStep(int64_t epoch, int64_t epoch_steps, int64_t step, absl::Duration since_last) const;
  // True if a validation is due at the end of an epoch, after `epochs` epochs and `step` steps of the run.
  bool AfterEpoch(int64_t epochs, int64_t step, absl::Duration since_last) const;
  // True if validations are possible other than at ends of epochs.
  bool inside_epochs() const { return interval_ > 0 || options_.every_steps > 0 || timed(); }

 private:
  bool timed() const { return options_.every_time < absl::InfiniteDuration(); }

  const ValidationOptions options_;
  int64_t interval_ = 0;  // in steps of an epoch; 0: only its end
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_VALIDATION_RULE_H_
