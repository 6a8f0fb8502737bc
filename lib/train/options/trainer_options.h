// What a training run is told.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_TRAINER_OPTIONS_H_
#define RUTILE_LIB_TRAIN_OPTIONS_TRAINER_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/enum_names.h"
#include "lib/distributed/communicator.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/eager_options.h"
#include "lib/task/sampling_policy.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/files/log_format.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/batch_limit.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/validation_rule.h"

namespace rutile {

// kNone: every step through LibTorch's operations and autograd. kScript: the same, networks as TorchScript. kCompile:
// the task's own kernels.
enum class CompileMode { kNone, kScript, kCompile };

inline constexpr absl::string_view kCompileModeWords[] = {"none", "script", "compile"};
inline constexpr EnumNames<CompileMode> kCompileModeNames("no compile mode", kCompileModeWords);

// How a gradient is clipped: scaled down to a 2-norm over all parameters, or each component cut at an absolute value.
enum class GradientClip { kNorm, kValue };

inline constexpr absl::string_view kGradientClipWords[] = {"norm", "value"};
inline constexpr EnumNames<GradientClip> kGradientClipNames("gradients cannot be clipped by", kGradientClipWords);

enum class RunFiles {
  kAll,
  kAtEnd,  // models and the checkpoint, when the run ends: nothing is written while training (--barebones)
  kNone,   // (--fast_dev_run)
};

struct StepReport {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;   // done in the run
  int64_t batch = 0;  // done in the epoch
  int64_t num_batches = 0;
  double loss = 0;           // of the batch
  double learning_rate = 0;  // of the step
  double gradient_norm = 0;  // before clipping
  double cost = 0;           // Task::ExampleCost of what was trained on in this epoch and session
};

// A row of the log: the end of an epoch, or a validation inside one.
struct EpochReport {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;
  bool end_of_epoch = true;
  bool validated = false;
  double learning_rate = 0;
  double train_loss = 0;  // of the epoch so far; NaN where nothing of it was trained
  double validation_loss = std::numeric_limits<double>::quiet_NaN();  // when not validated (and without a set)
  std::vector<Metric> validation;                                     // the same; empty without a validation set
  double monitored = std::numeric_limits<double>::quiet_NaN();        // where it is observed
  bool best = false;                                                  // none before had a better monitored value
  absl::Duration time;        // of the epoch so far, training and validation, in this session
  double examples_per_s = 0;  // training alone
  double cost_per_s = 0;      // Task::ExampleCost of these: atoms per second
  std::vector<double> terms;  // [T] mean of each loss term over the epoch; NaN where nothing was counted
};

// What users can set has a row in a table, which says its flag, range and what resuming demands: trainer_settings.h.
struct TrainerOptions {
  // These decide the course of a run; a resumed run must have the same.
  int64_t seed = 0;  // initial parameters, order of examples; any number
  OptimizerOptions optimizer;
  ParameterGroupOptions groups;  // of parameters that are trained otherwise, or in turns
  ScheduleOptions schedule;
  // The average is what is validated and written as a model, from its first update on.
  std::optional<EmaOptions> ema;
  // The mean of so many models, those of the best monitored values, is written at the end; 0: none.
  int64_t average_best = 0;
  int64_t batch_size = 32;  // not used by L-BFGS, which takes all examples in each evaluation
  bool shuffle = true;      // kUniform: another order in each epoch
  SamplingPolicy sampling_policy = SamplingPolicy::kUniform;
  bool bucket_by_size = false;  // batches of like sizes, sorted within windows of this many batches
  int64_t bucket_window = 50;
  // Steps are made of so many batches: their terms and counts are added up before a loss is formed, so that a step is
  // that of the one large batch, whatever the loss. What is left at an epoch's end makes a smaller step.
  int64_t accumulate_grad_batches = 1;
  // The gradient is clipped after its terms are combined, to this norm or largest component; 0: it is not.
  double gradient_clip_val = 0;
  GradientClip gradient_clip_algorithm = GradientClip::kNorm;
  // Which value of Monitor decides what is best, early stopping and plateau. Empty: the validation loss, or the
  // training loss without a validation set.
  std::string monitor;
  ValidationOptions validation;
  // [examples of the task] or empty: 1 for training examples that weigh nothing. Batches are drawn as with them, and
  // then lack them, so that the order, the number of steps and all that a task derives of its training set are those of
  // the run on all examples. What the file is that says so belongs into `config`.
  std::vector<uint8_t> left_out;
  BatchLimit limit_train_batches;  // of each epoch; its first ones, so that shuffling changes which
  // Not all(): so many of the first batches, never shuffled, are the training set and the validation set: a model that
  // cannot fit these few has a fault.
  BatchLimit overfit_batches;
  // mixed and matmul decide the course, not device; script is the mode's. Plain with kCompile.
  EagerOptions eager;
  // Lets a run on the CPU, too, step as one on a GPU does (device_step.h): for tests. Results differ in rounding alone.
  bool device_steps_on_cpu = false;
  // What the caller made of the inputs and of the task, by the names of its flags, only where it is not the default
  // (but "species", which has none): joins Task::ResumeConfig.
  std::map<std::string, std::string> config;

  // These may change when a run is resumed.
  StopOptions stop;
  CompileMode compile_mode = CompileMode::kCompile;
  bool check_gradient = true;  // kCompile, kScript: compare the first batch with the reference, and refuse to train if
  // With check_gradient: another process makes that check, and this returns what it has found, each time; without
  // `wait` OK as long as that is not known. Training begins meanwhile, but nothing is replaced, saved or returned
  // before. Null: the check is made here.
  std::function<absl::Status(bool wait)> await_first_batch;
  double gradient_tolerance = 0;      // they differ by more than this; 0: 10 ReferenceTolerance of the parameters' type
  double check_cost = 64;             // only so many examples of it that Task::ExampleCost adds up to no more than
                                      // this (but one at least): the reference may be slow and need much memory
  int64_t validation_batch_size = 0;  // 0: batch_size or 256, whichever is more; results do not depend on it
  BatchLimit limit_val_batches;       // of each validation; examples are drawn from all, the same in each
  int num_workers = 0;                // threads that make batches ahead
  int prefetch_factor = 2;            // batches ahead, per worker
  bool persistent_workers = true;     // false: threads end with each epoch

  // Processes that train together, this one among them; nullptr: it is alone. Each batch is dealt out among them, so
  // that the run is that of one process, to rounding.
  Communicator* communicator = nullptr;
  // With several processes: instead, each owns a part of the model and works on whole batches
  // (ModelSharding::ShardModel). Again the run is that of one process, to rounding.
  bool shard_model = false;
  RunMode mode = RunMode::kNew;
  // kResume: the checkpoint to go on from, in any directory; empty: the last in the directory.
  std::string resume_from;
  // Names of options that a resumed run may have otherwise (resume_config.h), "data" for its inputs, or "all".
  std::vector<std::string> overrides;
  // Stands for the content of the inputs: a resumed run must have the same. Empty: nobody knows.
  std::string data_sha256;
  // [P] of a run that is not resumed; of no elements: Task::InitialParameters. Copied.
  Tensor initial_parameters;
  absl::Duration save_interval = absl::Seconds(10);  // of best, last and checkpoint, which are written beside
                                                     // training; 0: after each step, which waits for them
  // Numbered checkpoints that stay: of every so many epochs or steps (0: none), or after so much time.
  int64_t keep_every_epochs = 0;
  int64_t keep_every_steps = 0;
  absl::Duration keep_every_time = absl::InfiniteDuration();
  int64_t save_top_k = 0;  // and the checkpoints of so many of the best values; -1: of all validations
  RunFiles files = RunFiles::kAll;
  // With RunFiles::kAll: the forms of log.tsv, and whether there is also a row in steps.tsv for every so many steps
  // (0: none).
  std::vector<LogFormat> log_formats = AllLogFormats();
  int64_t log_every_n_steps = 0;
  // Between the lines that a caller who prints them (tools/train) writes where no progress line can be drawn; 0: none.
  absl::Duration log_interval = absl::Seconds(30);
  std::string config_json;  // a JSON object whose members join config.json: what the caller knows of the run
  std::string flag_file;    // flags.txt; empty: none

  // For progress bars and messages: training itself prints nothing.
  std::function<void(const StepReport&)> on_step;
  std::function<void(const EpochReport&)> on_epoch;
  // Where a run goes on, with what settings changed, and what could not be written.
  std::function<void(absl::string_view)> on_message;
};

// `eager` with the script of the mode.
EagerOptions EagerOptionsOf(const TrainerOptions& options);

// Whether shard_model would go with the other options, whatever it is: INVALID_ARGUMENT naming what it does not go
// with.
absl::Status CheckShardModel(const TrainerOptions& options);
// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckTrainerOptions(const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_TRAINER_OPTIONS_H_
