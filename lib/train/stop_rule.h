// When training ends.

#ifndef RUTILE_LIB_TRAIN_STOP_RULE_H_
#define RUTILE_LIB_TRAIN_STOP_RULE_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Whichever comes first. Epochs and steps count from the start of the run, across resumes; time counts from the start
// of this process's training, because a queue's limit does.
struct StopOptions {
  int64_t max_epochs = 1000;
  int64_t max_steps = -1;  // -1: no limit. A limit inside an epoch ends the epoch there; it is validated and logged.
  absl::Duration max_time = absl::InfiniteDuration();  // looked at after every step
  // Early stopping: ends after this many validations in a row without the loss going below best - min_delta.
  // 0: never. It counts validations, not epochs.
  int64_t patience = 0;
  double min_delta = 0;
};

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckStopOptions(const StopOptions& options);

class StopRule {
 public:
  explicit StopRule(const StopOptions& options);

  // After a validation, with the monitored loss.
  void Observe(double loss);

  // Why to end before the next step or epoch, or "" to go on: "max_steps=200", "max_time=1h", ...
  std::string AfterStep(int64_t steps_done, absl::Duration elapsed) const;
  std::string AfterEpoch(int64_t epochs_done) const;

  // stopping: f64 [2] = best loss, validations in a row without improvement.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);  // INVALID_ARGUMENT: missing, or another shape

 private:
  const StopOptions options_;
  double best_ = std::numeric_limits<double>::infinity();
  int64_t bad_ = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STOP_RULE_H_
