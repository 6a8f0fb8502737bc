// What a training run is told.

#ifndef RUTILE_LIB_TRAIN_TRAINER_OPTIONS_H_
#define RUTILE_LIB_TRAIN_TRAINER_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/task/sampling_policy.h"
#include "lib/task/task.h"
#include "lib/train/optimizer.h"
#include "lib/train/parameter_groups.h"
#include "lib/train/run_directory.h"
#include "lib/train/schedule.h"
#include "lib/train/stop_rule.h"

namespace rutile {

// kNone: every step through LibTorch's autograd (the reference). kCompile: the task's own kernels.
enum class CompileMode { kNone, kCompile };

absl::string_view CompileModeName(CompileMode mode);                   // "none", "compile"
absl::StatusOr<CompileMode> ParseCompileMode(absl::string_view name);  // INVALID_ARGUMENT naming the choices

struct StepReport {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;   // done in the run
  int64_t batch = 0;  // done in the epoch
  int64_t num_batches = 0;
  double loss = 0;  // of the batch
};

struct EpochReport {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;
  double learning_rate = 0;
  double train_loss = 0;
  double validation_loss = 0;      // NaN without a validation set
  std::vector<Metric> validation;  // empty without one
  bool best = false;               // no epoch had a lower loss
  absl::Duration time;             // training and validation
  double examples_per_s = 0;       // training alone
  double cost_per_s = 0;           // Task::ExampleCost of these: atoms per second
  std::vector<double> terms;       // [T] mean of each loss term over the epoch; NaN where nothing was counted
};

struct TrainerOptions {
  // These decide the course of a run; a resumed run must have the same.
  uint64_t seed = 0;  // initial parameters, order of examples
  OptimizerOptions optimizer;
  ParameterGroupOptions groups;  // of parameters that are trained otherwise, or in turns
  ScheduleOptions schedule;
  int64_t batch_size = 32;  // not used by L-BFGS, which takes all examples in each evaluation
  bool shuffle = true;      // kUniform: another order in each epoch
  SamplingPolicy sampling_policy = SamplingPolicy::kUniform;
  double gradient_clip_norm = 0;  // longest gradient, after terms are combined; 0: any

  // These may change when a run is resumed.
  StopOptions stop;
  CompileMode compile_mode = CompileMode::kCompile;
  bool check_gradient = true;         // kCompile: compare the first batch with the reference, and refuse to train if
  double gradient_tolerance = 0;      // they differ by more than this; 0: 10 ReferenceTolerance of the parameters' type
  double check_cost = 64;             // only so many examples of it that Task::ExampleCost adds up to no more than
                                      // this (but one at least): the reference may be slow and need much memory
  int64_t validation_batch_size = 0;  // 0: batch_size or 256, whichever is more; results do not depend on it
  int num_workers = 0;                // threads that make batches ahead
  int prefetch_factor = 2;            // batches ahead, per worker
  bool persistent_workers = true;     // false: threads end with each epoch

  RunMode mode = RunMode::kNew;
  absl::Duration save_interval = absl::Seconds(10);  // of best, last and checkpoint; 0: after every epoch
  int64_t keep_every_epochs = 0;                     // keeps a checkpoint of every so many epochs; 0: of none

  // For progress bars and messages: training itself prints nothing.
  std::function<void(const StepReport&)> on_step;
  std::function<void(const EpochReport&)> on_epoch;
};

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckTrainerOptions(const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_TRAINER_OPTIONS_H_
