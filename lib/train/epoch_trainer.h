// What trains an epoch: steps of an optimiser over batches (batch_epoch.h), or an iteration of L-BFGS over all examples
// (lbfgs_epoch.h).

#ifndef RUTILE_LIB_TRAIN_EPOCH_TRAINER_H_
#define RUTILE_LIB_TRAIN_EPOCH_TRAINER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/task/task.h"
#include "lib/train/checkpoint.h"
#include "lib/train/data_loader.h"
#include "lib/train/schedule.h"
#include "lib/train/stop_rule.h"
#include "lib/train/trainer_options.h"

namespace rutile {

// What it works with and on. All must outlive it.
struct EpochContext {
  Task& task;
  const std::vector<int64_t>& examples;  // to train on
  const TrainerOptions& options;
  const Schedule& schedule;
  const StopRule& stop;
  Checkpoint& state;  // parameters, epoch_sums, learning_rate, step, batch and sampling_weight are moved on
  absl::Time start;   // of the session, for max_time
};

// Done in a call, for speeds.
struct EpochWork {
  int64_t examples = 0;
  double cost = 0;  // Task::ExampleCost of these
  void Add(const Task& task, absl::Span<const int64_t> more);
};

class EpochTrainer {
 public:
  virtual ~EpochTrainer() = default;

  // Tells the task of the epoch and goes on from state.batch to the epoch's end, or to a `reason` to stop ("" when
  // there is none). On return no batch is being made. CANCELLED after a signal, between steps; OUT_OF_RANGE when loss
  // or gradient is not finite; otherwise the errors of the task.
  virtual absl::Status Train(EpochWork* work, std::string* reason) = 0;

  // Of the optimiser, for checkpoints. INVALID_ARGUMENT naming the tensor that does not fit.
  virtual NamedTensors State() const = 0;
  virtual absl::Status SetState(const NamedTensors& state) = 0;
};

// As the options say, for training.
DataLoaderOptions LoaderOptions(const TrainerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_EPOCH_TRAINER_H_
