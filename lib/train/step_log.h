// The step log, steps.tsv and steps.jsonl: one row for every n-th optimizer step.
//
// Columns:
//   epoch, step, loss[unit] (of the step's batch, before the step), learning_rate, gradient_norm (Euclidean, before
//   clipping), time[s] (since the first step of this session)

#ifndef RUTILE_LIB_TRAIN_STEP_LOG_H_
#define RUTILE_LIB_TRAIN_STEP_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/task/task.h"
#include "lib/train/files/log_format.h"
#include "lib/train/files/train_log.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Returns the columns, named by LogColumn.
std::vector<std::string> StepColumns(absl::string_view loss_unit);

// Writes the step log of one process. Training reports every step to it; it decides which steps become rows.
class StepLog {
 public:
  // Writes rows of steps n, 2 n, ..., to STEM.tsv and STEM.jsonl. every_n_steps >= 1. No file is touched before the
  // first step.
  StepLog(absl::string_view stem, std::vector<LogFormat> formats, absl::string_view loss_unit, int64_t every_n_steps);

  // Reports a step; called after each one. The first call of a resumed run drops rows of this step and later ones. A
  // step without a row costs one division; a row is written and flushed in some microseconds. Does nothing after an
  // error.
  void Observe(const StepReport& report);

  // The first error of the file system. Training goes on without the log, and Train returns this error at its end.
  const absl::Status& status() const { return status_; }

 private:
  const std::string stem_;
  const std::vector<LogFormat> formats_;
  const std::vector<std::string> columns_;
  const int64_t every_n_steps_;
  std::optional<TrainLog> log_;
  absl::Time start_;
  absl::Status status_;
};

// Returns the columns of all logs that the options request, each once; none if there are no logs.
std::vector<std::string> LogColumns(const Task& task, bool has_validation, const TrainerOptions& options);

// Returns the step log that the options request of this process, or nullptr. Appends it to *on_step, which then must
// not be called after the log is gone.
std::unique_ptr<StepLog> StepLogOf(const TrainerOptions& options, absl::string_view output_dir,
                                   absl::string_view loss_unit, std::function<void(const StepReport&)>* on_step);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_LOG_H_
