#include "tools/train/report/train_plot.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/training_log.h"
#include "lib/file/file.h"
#include "lib/train/files/log_format.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_bool(plot, true, "Draw learning_curve.svg from log.tsv at the end of the run, if gnuplot is installed.");
DEFINE_int64(plot_every, 0,
             "Draw learning_curve.svg every N epochs, too. A thread beside training draws it, and an epoch that ends "
             "during this time has no picture. With 0, it is drawn at the end only.");

namespace rutile {
namespace {

bool LogsTable(const TrainerOptions& options) {
  const auto& formats = options.log_formats;
  return std::find(formats.begin(), formats.end(), LogFormat::kTsv) != formats.end();
}

// Draws the picture. Returns false if there is nothing to draw.
absl::StatusOr<bool> Draw(const RunDirectory& directory, const KeptModel& kept) {
  if (!FileExists(directory.log())) return false;
  ASSIGN_OR_RETURN(const TrainingLog log, ReadTrainingLog(directory.log()));
  if (!HasLearningCurve(log)) return false;
  ASSIGN_OR_RETURN(const std::string svg, DrawLearningCurve(log, kept));
  RETURN_IF_ERROR(WriteFileAtomically(directory.learning_curve(), svg));
  return true;
}

}  // namespace

absl::Status CheckPlotFlags(const TrainerOptions& options) {
  if (options.files != RunFiles::kAll) {
    return RefuseFlags(options.files == RunFiles::kAtEnd ? "with --barebones, which draws nothing"
                                                         : "with --fast_dev_run, which writes nothing",
                       {"plot", "plot_every"});
  }
  if (FLAGS_plot_every < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plot_every=", FLAGS_plot_every, ": expected 0 (only at the end) or epochs"));
  }
  RETURN_IF_ERROR(RefuseUnused("--plot=false", {{"plot_every", FLAGS_plot}}));
  return RefuseUnused(absl::StrCat("--logger=", LogFormatsName(options.log_formats), ": log.tsv is what is drawn"),
                      {{"plot", LogsTable(options) || !FLAGS_plot}, {"plot_every", LogsTable(options)}});
}

TrainPlot::TrainPlot(const RunDirectory& directory, const TrainerOptions& options, const MonitoredValue& monitored)
    : directory_(directory), enabled_(FLAGS_plot && LogsTable(options)) {
  kept_.monitor = monitored.column;
  kept_.higher_is_better = monitored.higher_is_better;
}

TrainPlot::~TrainPlot() {
  if (thread_.joinable()) thread_.join();
}

void TrainPlot::OnEpoch(const EpochReport& report) {
  if (report.best) {
    kept_.epoch = static_cast<double>(report.epoch);
    kept_.step = static_cast<double>(report.step);
  }
  if (!enabled_ || FLAGS_plot_every == 0 || report.epoch % FLAGS_plot_every != 0 || drawing_) return;
  if (thread_.joinable()) thread_.join();  // it is done
  drawing_ = true;
  const auto draw = [this, kept = kept_] {
    // An error that persists is reported at the end, and memory that is used up comes back there.
    try {
      Draw(directory_, kept).status().IgnoreError();
    } catch (const std::exception&) {
    }
    drawing_ = false;
  };
  try {
    thread_ = std::thread(draw);
  } catch (const std::exception&) {  // no thread can be started (ulimit -v, -u): this epoch has no picture
    drawing_ = false;
  }
}

bool TrainPlot::Finish(int64_t best_epoch, int64_t best_step) {
  if (thread_.joinable()) thread_.join();
  if (!enabled_) return false;
  kept_.epoch = kept_.step = std::nullopt;
  if (best_epoch > 0) kept_.epoch = static_cast<double>(best_epoch);
  if (best_step > 0) kept_.step = static_cast<double>(best_step);
  const absl::StatusOr<bool> drawn = Draw(directory_, kept_);
  if (!drawn.ok()) PrintWarning(absl::StrCat("no learning curve: ", drawn.status().message()));
  return drawn.value_or(false);
}

}  // namespace rutile
