// The lines that a log or a pipe gets during training, where no progress line can be drawn.
//
//   epoch 12/100, 11 %: loss 0.0123 eV/atom, val_loss 0.0145 eV/atom, energy_rmse 12.3 meV/atom, force_rmse 0.12 eV/Å,
//   lr 0.001, 491000 atoms/s, 3:25 left, best so far       (in one line)
//
// Where a metric chooses the model, the end is "best val_mrr so far", or "best val_mrr 0.361 in epoch 9".

#ifndef RUTILE_TOOLS_TRAIN_REPORT_TRAIN_LINES_H_
#define RUTILE_TOOLS_TRAIN_REPORT_TRAIN_LINES_H_

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/task/task.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/train_state.h"

namespace rutile {

struct TrainLinesOptions {
  std::string label;      // printed before each line; "" for none
  std::string cost_unit;  // of Task::ExampleCost, like "atoms"
  std::string loss_unit;  // "eV/atom"; "" for none
  MonitoredValue monitored;
  StopOptions limits;
  absl::Duration interval = absl::Seconds(30);  // between lines; 0: none by time
  bool every_report = false;                    // a line for each epoch and validation, whatever the time
};

// Prints a line when `interval` has passed since the last one, at the next step, and when the monitored value has
// improved by a tenth since the last line, but then no sooner than a tenth of the interval after it. A run that is
// shorter than that prints nothing.
class TrainLines {
 public:
  using Clock = TrainTracker::Clock;

  TrainLines(TrainLinesOptions options, std::function<void(absl::string_view)> print,
             Clock::time_point start = Clock::now());

  // Must be called after each step and each epoch or validation.
  void OnStep(const StepReport& report, Clock::time_point now = Clock::now());
  void OnEpoch(const EpochReport& report, Clock::time_point now = Clock::now());

 private:
  // True if the report's value is better than that of the last line by so much that it is worth a line.
  bool ImprovementMatters(const EpochReport& report) const;
  // Returns the end of a line: that this value is the best so far or, of a metric, which was.
  std::string BestText(bool best) const;
  void Print(Clock::time_point now, bool best);

  const TrainLinesOptions options_;
  const Clock::duration interval_;
  const std::function<void(absl::string_view)> print_;
  TrainTracker tracker_;
  Clock::time_point printed_;  // when the last line was
  double printed_value_ = std::numeric_limits<double>::quiet_NaN();
  double best_value_ = std::numeric_limits<double>::quiet_NaN();
  double train_loss_ = std::numeric_limits<double>::quiet_NaN();  // of the last epoch
  std::vector<Metric> metrics_;                                   // of the last validation
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_REPORT_TRAIN_LINES_H_
