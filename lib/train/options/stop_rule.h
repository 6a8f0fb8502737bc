// Decides when training ends: limits on epochs, steps and time, and early stopping.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_STOP_RULE_H_
#define RUTILE_LIB_TRAIN_OPTIONS_STOP_RULE_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Whichever comes first. Epochs and steps count from the start of the run, across resumes; time counts from the instant
// that Train is given, the start of the program, because a queue's limit does. The minima hold back early stopping
// alone: a limit that the user sets is kept, whatever else was asked for.
struct StopOptions {
  int64_t max_epochs = 1000;  // -1: no limit
  int64_t max_steps = -1;     // -1: no limit. A limit inside an epoch ends the epoch there; it is validated and logged.
  absl::Duration max_time = absl::InfiniteDuration();  // looked at after every step
  // Early stopping: ends after this many validations in a row without the loss going below best - min_delta.
  // 0: never. It counts validations, not epochs.
  int64_t patience = 0;
  double min_delta = 0;
  // Of the monitored value, and likewise early stopping. Worse than the first ends the run, as it diverges; as good as
  // the second ends it, as it is good enough. NaN: off.
  double divergence_threshold = std::numeric_limits<double>::quiet_NaN();
  double stopping_threshold = std::numeric_limits<double>::quiet_NaN();
  int64_t min_epochs = 0;
  int64_t min_steps = 0;
};

// One row for each option: its flag, range, and what it needs to have an effect. A resumed run may have all of them
// otherwise, as they limit a run and do not decide its course.
absl::Span<const Setting<StopOptions>> StopSettings();

// Those rows of StopSettings that say how long a run gets: its epochs and its steps.
absl::Span<const Setting<StopOptions>> LengthSettings();

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckStopOptions(const StopOptions& options);

// Evaluates StopOptions during a run. Limits need no memory; early stopping follows the monitored value.
class StopRule {
 public:
  // maximize: true if higher monitored values are better.
  explicit StopRule(const StopOptions& options, bool maximize = false);

  // Reports the monitored value after a validation.
  void Observe(double value);

  // Returns the limit reached, or "" to continue before the next step or epoch: "max_steps=200", "max_time=1h",
  // "max_epochs=100".
  std::string Limit(int64_t epochs_done, int64_t steps_done, absl::Duration elapsed) const;
  bool LimitReached(int64_t steps_done, absl::Duration elapsed) const {  // cheap check of steps and time
    return elapsed >= options_.max_time || (options_.max_steps >= 0 && steps_done >= options_.max_steps);
  }
  // Returns why early stopping ends the run, or "": "no improvement in 10 validations (best 0.0021)".
  std::string Early(int64_t epochs_done, int64_t steps_done) const;

  // stopping: f64 [2] = best value, validations in a row without improvement; value: f64 [], the last value.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);  // INVALID_ARGUMENT: missing, or another shape

 private:
  const StopOptions options_;
  const bool maximize_;
  double best_;
  int64_t bad_ = 0;
  double last_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_STOP_RULE_H_
