// Trains a task on a split and leaves a directory with the best model, checkpoints and logs.
//
// The order of a step is fixed: make the batch, differentiate each loss term, form the loss, combine the gradients,
// clip, step the optimizer. After each epoch: validate, inform schedule and stop rule, log a row, write models and
// checkpoint. Every technique has its own file and one fixed place in this order.
//
// Results are a function of task, split, options and seed: bitwise the same every time, for any number of workers, and
// across an interruption at any step and a resume. (With CompileMode::kNone, for the same number of LibTorch threads.)
//
// Example:
//   TrainerOptions options;
//   options.seed = 7;
//   options.stop.max_epochs = 100;
//   options.on_epoch = [](const EpochReport& r) { LOG(INFO) << r.epoch << ": " << r.train_loss; };
//   SplitOptions split_options;
//   split_options.validation_fraction = 0.1;
//   ASSIGN_OR_RETURN(const Split split, SplitExamples(task.num_examples(), split_options));
//   ASSIGN_OR_RETURN(const TrainResult result, Train(task, split, options, "run", /*provenance=*/{}));
//   // run/best.safetensors now holds result.best_parameters, of epoch result.best_epoch.

#ifndef RUTILE_LIB_TRAIN_TRAINER_H_
#define RUTILE_LIB_TRAIN_TRAINER_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/task/task.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Summary of a finished run. Losses are NaN where there is none.
struct TrainResult {
  int64_t epochs = 0;                                            // completed in the run, including earlier sessions
  int64_t steps = 0;                                             // done in the run, including earlier sessions
  std::string stop_reason;                                       // "max_epochs=100"
  double train_loss = std::numeric_limits<double>::quiet_NaN();  // of the last epoch; NaN when none was trained
  double best_loss = std::numeric_limits<double>::quiet_NaN();   // the best monitored value
  int64_t best_epoch = 0;                                        // from 1
  int64_t best_step = 0;
  int64_t averaged = 0;  // number of models in average.safetensors; 0: not written
  double average_loss = std::numeric_limits<double>::quiet_NaN();  // validation loss of average.safetensors
  Tensor best_parameters;                                          // [P], as in best.safetensors
  absl::Duration time;                                             // duration of this call
};

// Trains and writes to output_dir (RunDirectory): best.safetensors and last.safetensors through Task::WriteModel, with
// `provenance` and "epoch", "step", "loss" as extra metadata; checkpoints/; log.tsv; config.json. Files that are
// rewritten during a run (best, last, checkpoint) are written when save_interval has passed, and at the end.
//
// Columns of log.tsv: epoch, step, learning_rate (of the epoch's last step), train_loss[unit] and train_TERM[unit]
// (mean of the term over the epoch's batches, while parameters moved), val_loss[unit] and val_METRIC[unit] (the whole
// validation set under the epoch's final parameters), epoch_time[s], examples_per_s (training alone). Sums are pooled
// over the epoch before a loss is formed; aenet-python averages the losses of batches.
//
// StopOptions::max_time counts from clock_start, with several processes that of rank 0: a caller who reads data before,
// or trains several models, gives the start of the process. InfiniteFuture: from this call. A run that has made no step
// makes one before that limit ends it.
//
// Errors: INVALID_ARGUMENT (options, empty training set), ALREADY_EXISTS and NOT_FOUND (RunMode), FAILED_PRECONDITION
// (the run to resume had other options or data; the first batch's gradient disagrees with the reference), OUT_OF_RANGE
// if a loss or gradient is not finite (best.safetensors keeps the best model so far), CANCELLED after a signal (the
// step is finished and a checkpoint written), and the errors of the task and the file system.
absl::StatusOr<TrainResult> Train(Task& task, const Split& split, const TrainerOptions& options,
                                  absl::string_view output_dir, const Metadata& provenance,
                                  absl::Time clock_start = absl::InfiniteFuture());

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_TRAINER_H_
