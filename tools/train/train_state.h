// How far a run has come, and how long it will take, from the reports of training.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_STATE_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_STATE_H_

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// The value that decides which model is kept.
struct MonitoredValue {
  std::string column;  // in the log: "val_mrr"; "": unknown
  bool higher_is_better = false;

  // True if it is a metric, which is shown beside the losses.
  bool is_metric() const { return !column.empty() && column != "val_loss" && column != "train_loss"; }
};

// The values to show. Rates and times count from the start of this session, also in a resumed run.
struct TrainState {
  StepReport step;
  double validation_loss = std::numeric_limits<double>::quiet_NaN();  // the last one; NaN: none yet
  double monitored = std::numeric_limits<double>::quiet_NaN();        // likewise; NaN: none yet
  double best = std::numeric_limits<double>::quiet_NaN();             // the best so far; NaN: none in this session
  int64_t best_epoch = 0;                                             // its epoch
  double cost_per_s = 0;                                              // 0: unknown
  bool long_epoch = false;                                            // also show batches
  double done = 0;                                                    // share of the run, 0 to 1; negative: unknown
  double seconds_left = -1;                                           // to the nearest limit; negative: unknown
  bool may_stop_early = false;
  int64_t max_epochs = -1;
};

// Returns "491000 atoms/s"; "" while the rate is unknown. cost_unit: "atoms".
std::string RateText(const TrainState& state, absl::string_view cost_unit);
// Returns "3:25 left", or "at most 3:25 left" if the run may stop early; "" while it is unknown.
std::string TimeLeftText(const TrainState& state);

// Follows a run. The clock is the caller's.
class TrainTracker {
 public:
  using Clock = std::chrono::steady_clock;

  TrainTracker(const StopOptions& limits, Clock::time_point start);

  // Must be called after each step; cheap.
  void OnStep(const StepReport& report, Clock::time_point now);
  void OnEpoch(const EpochReport& report);
  // Computes rates and times of the last step.
  void Update(Clock::time_point now);
  const TrainState& state() const { return state_; }

 private:
  const StopOptions limits_;
  const Clock::time_point start_;
  TrainState state_;
  StepReport first_;  // the session's and the epoch's first report, from which rates count
  StepReport epoch_first_;
  Clock::time_point first_time_, epoch_time_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_STATE_H_
