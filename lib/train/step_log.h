// steps.tsv and steps.jsonl: a row for every so many optimizer steps.
//
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
#include "lib/train/files/log_format.h"
#include "lib/train/files/train_log.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

class StepLog {
 public:
  // Rows of steps n, 2 n, ..., in STEM.tsv and so on. every_n_steps >= 1. Nothing is touched before the first step.
  StepLog(absl::string_view stem, std::vector<LogFormat> formats, absl::string_view loss_unit, int64_t every_n_steps);

  // After each step. In a run that goes on, rows of steps from this one on are dropped first. Costs a division where
  // there is no row; a row is written and flushed in some microseconds. Does nothing after an error.
  void Observe(const StepReport& report);

  // The first error of the file system. Training goes on without the log; Train returns it at the end of the run.
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

// What the options ask for of this process; nullptr: nothing. on_step from now on tells it as well, while it lives.
std::unique_ptr<StepLog> StepLogOf(const TrainerOptions& options, absl::string_view output_dir,
                                   absl::string_view loss_unit, std::function<void(const StepReport&)>* on_step);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_LOG_H_
