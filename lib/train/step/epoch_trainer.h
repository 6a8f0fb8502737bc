// Interface of an algorithm that trains an epoch: optimizer steps over batches (batch_epoch.h), or one iteration of
// L-BFGS over all examples (lbfgs_epoch.h).

#ifndef RUTILE_LIB_TRAIN_STEP_EPOCH_TRAINER_H_
#define RUTILE_LIB_TRAIN_STEP_EPOCH_TRAINER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/distributed/agreement.h"
#include "lib/distributed/communicator.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/failed_batch.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/data_loader.h"
#include "lib/train/step/loss_gradient.h"
#include "lib/train/step/model_shards.h"

namespace rutile {

// Everything that an epoch trainer reads and updates. All references must outlive it.
struct EpochContext {
  Task& task;
  const std::vector<int64_t>& examples;  // the training set
  const TrainerOptions& options;
  const Schedule& schedule;
  int64_t num_batches;   // batches of an epoch, which may be fewer than the loader has
  Checkpoint& state;     // parameters, epoch_sums, learning_rate, step, batch and sampling_weight are updated
  Ema* ema;              // nullptr: no moving average
  Agreement& agreement;  // of the processes that train together
  // Called after each step. True if the trainer must pause for a validation, a checkpoint or the end of the run.
  std::function<bool()> pause;
  // Called on a loss or gradient that is not finite, before the error is returned.
  std::function<void(const FailedBatch&)> on_failed;
  ModelShards* shards = nullptr;  // the shards of the model; nullptr: each process has all of it
};

// Work done by calls of Train, for reporting speed.
struct EpochWork {
  int64_t examples = 0;
  double cost = 0;      // sum of Task::ExampleCost
  absl::Duration time;  // duration of the calls
  void Add(const Task& task, absl::Span<const int64_t> more);
};

// Trains epoch by epoch on EpochContext::state. The trainer calls Train until the epoch ends, and may validate or save
// between calls.
class EpochTrainer {
 public:
  virtual ~EpochTrainer() = default;

  // Trains from state.batch to the end of the epoch, or to a pause. Calls Task::StartEpoch at the first call, and again
  // after Suspend. CANCELLED after a signal, between steps; OUT_OF_RANGE if loss or gradient is not finite; otherwise
  // the errors of the task.
  virtual absl::Status Train(EpochWork* work) = 0;
  // Must be called before the task is told of another epoch or of a validation. After it returns no batch is being
  // made.
  virtual void Suspend() = 0;
  // Returns why training is over (the algorithm has converged), or "".
  virtual std::string Finished() const { return ""; }
  // Called if a finished run goes on with other options, under which there may be more to do.
  virtual void Reopen() {}

  // The parameters to validate and to write as a model: the trained ones, or the optimizer's average of them.
  virtual const Tensor& EvaluationParameters() const = 0;

  // If the model is sharded or on a GPU, gathers parameters, their average and the optimizer's state, so that all
  // processes have all of it in the host's memory until the next step. All processes must call it at the same place,
  // before anything is read.
  virtual absl::Status AllGather() { return absl::OkStatus(); }

  // State and SetState save and restore the optimizer. INVALID_ARGUMENT naming the tensor that does not fit.
  virtual NamedTensors State() const = 0;
  virtual absl::Status SetState(const NamedTensors& state) = 0;
};

// Combines the terms added to `loss` and their gradients (LossGradient::Combine). If the loss or the gradient is not
// finite, calls on_failed first; `examples` and `batch` are those added last.
absl::StatusOr<double> CombineLoss(const EpochContext& context, absl::Span<const int64_t> examples,
                                   const NamedTensors& batch, LossGradient* loss);

// Returns the loader options for training, which refer to `options`. If the model is sharded, each process gets whole
// batches.
DataLoaderOptions LoaderOptions(const TrainerOptions& options);
// Makes `loader` return this process's share of each batch. nullptr: the process trains alone, and nothing changes.
void DealOut(const Communicator* communicator, DataLoaderOptions* loader);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_EPOCH_TRAINER_H_
