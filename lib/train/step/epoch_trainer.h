// What trains an epoch: steps of an optimizer over batches (batch_epoch.h), or an iteration of L-BFGS over all examples
// (lbfgs_epoch.h).

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
#include "lib/optimizer/ema.h"
#include "lib/optimizer/schedule.h"
#include "lib/task/task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/files/failed_batch.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/data_loader.h"
#include "lib/train/step/loss_gradient.h"
#include "lib/train/step/model_shards.h"

namespace rutile {

// What it works with and on. All must outlive it.
struct EpochContext {
  Task& task;
  const std::vector<int64_t>& examples;  // to train on
  const TrainerOptions& options;
  const Schedule& schedule;
  int64_t num_batches;   // of an epoch; the loader may have more
  Checkpoint& state;     // parameters, epoch_sums, learning_rate, step, batch and sampling_weight are moved on
  Ema* ema;              // nullptr: there is none
  Agreement& agreement;  // with the processes that train, too
  // Asked after each step: whether something is due that others do, a validation, a checkpoint, the end of the run.
  std::function<bool()> pause;
  std::function<void(const FailedBatch&)> on_failed;  // told of what is not finite, before that is returned
  ModelShards* shards = nullptr;                      // of the model, in these processes; nullptr: each has all of it
};

// Done in calls, for speeds.
struct EpochWork {
  int64_t examples = 0;
  double cost = 0;      // Task::ExampleCost of these
  absl::Duration time;  // that the calls took
  void Add(const Task& task, absl::Span<const int64_t> more);
};

class EpochTrainer {
 public:
  virtual ~EpochTrainer() = default;

  // Goes on from state.batch to the epoch's end, or to a pause. Tells the task of the epoch when no call before it did,
  // or Leave was called since. CANCELLED after a signal, between steps; OUT_OF_RANGE when loss or gradient is not
  // finite; otherwise the errors of the task.
  virtual absl::Status Train(EpochWork* work) = 0;
  // Before the task is told of anything else. On return no batch is being made.
  virtual void Suspend() = 0;
  // Why there is nothing left to do, or "".
  virtual std::string Finished() const { return ""; }
  // The run goes on with other options: there may be something left to do.
  virtual void Reopen() {}

  // What to evaluate, and to write as a model: the parameters, or an average of them.
  virtual const Tensor& EvaluationParameters() const = 0;

  // Where the model is in parts: parameters, their average and the optimizer's state are whole in all processes
  // afterward, until the next step. All call it at the same place. Before anyone reads them.
  virtual absl::Status AllGather() { return absl::OkStatus(); }

  // Of the optimizer, for checkpoints. INVALID_ARGUMENT naming the tensor that does not fit.
  virtual NamedTensors State() const = 0;
  virtual absl::Status SetState(const NamedTensors& state) = 0;
};

// The loss of what was added to `loss`, and its gradient there, as LossGradient::Combine. Where one is not finite,
// on_failed is told first; `examples` and `batch` are those added last.
absl::StatusOr<double> CombineLoss(const EpochContext& context, absl::Span<const int64_t> examples,
                                   const NamedTensors& batch, LossGradient* loss);

// As the options say, for training: of a model in parts each process sees all of a batch.
DataLoaderOptions LoaderOptions(const TrainerOptions& options);
// Batches dealt out among the processes that train together; nullptr: this one is alone.
void DealOut(const Communicator* communicator, DataLoaderOptions* loader);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_EPOCH_TRAINER_H_
