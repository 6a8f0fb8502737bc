// The progress line that a terminal shows during training.
//
//   train  epoch 12/100 (340/1200)  11 %  [##          ]  loss 0.0123  val 0.0145  lr 0.001  491000 atoms/s  3:25 left
//
// Where a metric chooses the model, it stands behind the losses: "mrr 0.345 (best 0.361, epoch 9)".

#ifndef RUTILE_TOOLS_TRAIN_REPORT_TRAIN_PROGRESS_H_
#define RUTILE_TOOLS_TRAIN_REPORT_TRAIN_PROGRESS_H_

#include <chrono>
#include <string>

#include "absl/strings/string_view.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/train_state.h"

namespace rutile {

// What does not change while a line is drawn again and again.
struct TrainProgressTexts {
  std::string label;         // "train", "member-01 (2 of 3)"
  std::string cost_unit;     // of Task::ExampleCost, like "atoms"
  MonitoredValue monitored;  // shown if it is a metric
};

// Formats a line of at most `width` columns. To fit, it drops the bar, the best value, wide spaces, the learning rate,
// and then the end.
std::string FormatTrainProgress(const TrainProgressTexts& texts, const TrainState& state, int width);

// Draws at most ten times a second, after the first tenth of a second, and only on a terminal, never into logs or
// pipes.
class TrainProgress {
 public:
  // enabled: false never draws (--progress=false).
  TrainProgress(TrainProgressTexts texts, const StopOptions& limits, bool enabled);
  ~TrainProgress() { Finish(); }
  TrainProgress(const TrainProgress&) = delete;
  TrainProgress& operator=(const TrainProgress&) = delete;

  // False if nothing is drawn; then OnStep and OnEpoch need not be called.
  bool active() const { return active_; }
  // Must be called after each step. If nothing is drawn, it costs a look at the clock.
  void OnStep(const StepReport& report);
  void OnEpoch(const EpochReport& report);
  // Leaves the last state on the terminal, if any was drawn, and ends the line. Further calls do nothing.
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;

  void Draw(Clock::time_point now, absl::string_view end);

  const TrainProgressTexts texts_;
  const Clock::time_point start_ = Clock::now();
  bool active_;
  bool drawn_ = false;
  TrainTracker tracker_;
  Clock::time_point next_draw_ = start_ + std::chrono::milliseconds(100);
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_REPORT_TRAIN_PROGRESS_H_
