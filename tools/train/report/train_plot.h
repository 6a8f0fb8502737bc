// Draws the learning curve of a run, beside training.

#ifndef RUTILE_TOOLS_TRAIN_REPORT_TRAIN_PLOT_H_
#define RUTILE_TOOLS_TRAIN_REPORT_TRAIN_PLOT_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "lib/evaluation/learning_curve.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/train_state.h"

namespace rutile {

// INVALID_ARGUMENT: --plot_every below 0 or without a plot; --plot or --plot_every without a log to draw.
absl::Status CheckPlotFlags(const TrainerOptions& options);

// Draws DIRECTORY/learning_curve.svg from log.tsv, as --plot and --plot_every request: the losses and, where a metric
// chooses the model, that metric. The epoch that is kept is marked.
class TrainPlot {
 public:
  TrainPlot(const RunDirectory& directory, const TrainerOptions& options, const MonitoredValue& monitored);
  ~TrainPlot();  // waits for a picture being drawn
  TrainPlot(const TrainPlot&) = delete;
  TrainPlot& operator=(const TrainPlot&) = delete;

  // Must be called after an epoch. A thread reads the log and runs gnuplot while training goes on. If the previous
  // picture is still being drawn, this epoch is skipped.
  void OnEpoch(const EpochReport& report);

  // Draws the last picture of the run and returns true if there is one. best_epoch, best_step: marked in it; 0:
  // unknown. Errors are only warnings: no run fails for its picture.
  bool Finish(int64_t best_epoch, int64_t best_step);

 private:
  const RunDirectory directory_;
  const bool enabled_;
  KeptModel kept_;
  std::atomic<bool> drawing_{false};
  std::thread thread_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_REPORT_TRAIN_PLOT_H_
