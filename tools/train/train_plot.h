// The learning curve of a run as a picture, drawn beside training.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_PLOT_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_PLOT_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// INVALID_ARGUMENT: --plot_every below 0 or without a plot; --plot or --plot_every without the log that is drawn.
absl::Status CheckPlotFlags(const TrainerOptions& options);

// By --plot and --plot_every, DIRECTORY/learning-curve.svg from its log.tsv.
class TrainPlot {
 public:
  TrainPlot(const RunDirectory& directory, const TrainerOptions& options);
  ~TrainPlot();  // waits for a picture that is being drawn
  TrainPlot(const TrainPlot&) = delete;
  TrainPlot& operator=(const TrainPlot&) = delete;

  // After an epoch: a thread reads the log and runs gnuplot, while training goes on. An epoch that is over before the
  // last picture is drawn has none.
  void OnEpoch(const EpochReport& report);

  // At the end of the run, the last picture; whether there is one. best_epoch: marked. What went wrong is a warning:
  // no run fails for its picture.
  bool Finish(int64_t best_epoch);

 private:
  const RunDirectory directory_;
  const bool enabled_;
  std::optional<double> best_epoch_;
  std::atomic<bool> drawing_{false};
  std::thread thread_;
};

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_PLOT_H_
