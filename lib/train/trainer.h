// Training: from a task and a split to a directory with the best model.
//
// A step, in this order: make the batch, gradient of each loss term, loss, combined gradient, clipping, optimizer.
// After each epoch: validation, learning rate and stopping rule told, log row, models and checkpoint. Every technique
// has its own file and one fixed place in that order.
//
// Everything is a function of task, split, options and seed: the same bits each time, for any number of workers, and
// across an interruption at any step and a resume. (With compile_mode none, for the same number of LibTorch threads.)

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

struct TrainResult {
  int64_t epochs = 0;                                            // completed in the run, earlier sessions included
  int64_t steps = 0;                                             // likewise
  std::string stop_reason;                                       // "max_epochs=100"
  double train_loss = std::numeric_limits<double>::quiet_NaN();  // of the last epoch; NaN when none was trained
  double best_loss = std::numeric_limits<double>::quiet_NaN();   // validation (training without a validation set)
  int64_t best_epoch = 0;                                        // from 1
  int64_t best_step = 0;
  int64_t averaged = 0;                                            // models in average.safetensors; 0: none is written
  double average_loss = std::numeric_limits<double>::quiet_NaN();  // validation, of it
  Tensor best_parameters;                                          // [P], what best.safetensors holds
  absl::Duration time;                                             // of this call
};

// Writes to output_dir (RunDirectory): best.safetensors and last.safetensors through Task::WriteModel, with
// `provenance` and "epoch", "step", "loss" as extra metadata; checkpoints/; log.tsv (columns below); config.json. Files
// that are written again and again (best, last, checkpoint) are written when save_interval has passed, and at the end.
//
// log.tsv: epoch, step, learning_rate (of the epoch's last step), train_loss[unit] and train_TERM[unit] (mean of the
// term over the epoch's batches, as parameters moved), val_loss[unit] and val_METRIC[unit] (the whole validation set
// under the epoch's final parameters), epoch_time[s], examples_per_s (training alone). Sums are pooled over the epoch
// before a loss is formed; aenet-python averages the losses of batches.
//
// Errors: INVALID_ARGUMENT (options, empty training set), ALREADY_EXISTS and NOT_FOUND (RunMode), FAILED_PRECONDITION
// (the run to resume had other options or data; the first batch's gradient does not agree with the reference),
// OUT_OF_RANGE when a loss or gradient is not finite (best.safetensors keeps the best until then), CANCELLED after a
// signal: the step was finished and a checkpoint written. Otherwise those of the task and the file system.
absl::StatusOr<TrainResult> Train(Task& task, const Split& split, const TrainerOptions& options,
                                  absl::string_view output_dir, const Metadata& provenance);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_TRAINER_H_
