// When the validation set is evaluated.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_VALIDATION_RULE_H_
#define RUTILE_LIB_TRAIN_OPTIONS_VALIDATION_RULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace rutile {

// By default after each epoch. At most one of the three intervals may be set:
//   fraction     after every floor(fraction * steps of an epoch) steps of it, one at least, and at its end; in every
//                every_epochs-th epoch
//   every_steps  after every so many optimizer steps of the run, wherever epochs end
//   every_time   at the first step after so much time since the last validation or the start of the session. What
//                depends on the clock is not the same in each run
// With the last two the ends of epochs are no validations. The end of the run always is one.
// All count optimizer steps. (Lightning counts batches, which gradient accumulation makes another number.)
struct ValidationOptions {
  int64_t every_epochs = 1;
  double fraction = 1;
  int64_t every_steps = 0;  // 0: off
  absl::Duration every_time = absl::InfiniteDuration();
};

// INVALID_ARGUMENT naming the option, its value and its range, or the two that exclude each other.
absl::Status CheckValidationOptions(const ValidationOptions& options);

class ValidationRule {
 public:
  // options have passed the check. steps_per_epoch: 1 or more.
  ValidationRule(const ValidationOptions& options, int64_t steps_per_epoch);

  // Inside epoch `epoch` (from 0), after `epoch_steps` steps of it and `step` of the run. since_last: since the last
  // validation.
  bool AfterStep(int64_t epoch, int64_t epoch_steps, int64_t step, absl::Duration since_last) const;
  // After `epochs` epochs and `step` steps of the run.
  bool AfterEpoch(int64_t epochs, int64_t step, absl::Duration since_last) const;
  // Whether anything but the end of an epoch can be a validation.
  bool inside_epochs() const { return interval_ > 0 || options_.every_steps > 0 || timed(); }

 private:
  bool timed() const { return options_.every_time < absl::InfiniteDuration(); }

  const ValidationOptions options_;
  int64_t interval_ = 0;  // steps of an epoch; 0: its end alone
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_VALIDATION_RULE_H_
