// A capability of tasks whose training batches several processes compute together.

#ifndef RUTILE_LIB_TASK_MODEL_SHARDING_H_
#define RUTILE_LIB_TASK_MODEL_SHARDING_H_

#include <vector>

#include "lib/task/exchange.h"
#include "lib/task/gradients/gradient_observer.h"

namespace rutile {

class Task;

// Task::sharding() returns it. Only tasks of one term have it.
class ModelSharding {
 public:
  virtual ~ModelSharding() = default;

  // Shards the model over processes: each updates some of the parameters, for batches that all of them see whole. From
  // then on gradients of training batches are computed in all processes for the same batches, and the task communicates
  // through `exchange`. It reads only parameters that this process owns or that are replicated (owned by no process).
  // Sums are complete in each process. Gradients are complete where this process owns the parameters, one process's
  // addend of a sum over all processes where they are replicated, and unspecified elsewhere. Nobody observes them.
  // Returns what each process owns, by rank, ascending. `exchange` must live until UnshardModel.
  virtual std::vector<std::vector<GradientRange>> ShardModel(Exchange* exchange) = 0;
  // Ends ShardModel: this process computes the whole model again.
  virtual void UnshardModel() = 0;

  // True if processes wait for each other while they compute gradients of training batches, so that a process whose
  // share of a batch is empty must do so too, with a batch of no examples.
  virtual bool SynchronizesBatches() const = 0;
};

// True if the task has a ModelSharding that synchronizes batches.
bool SynchronizesBatches(const Task& task);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_MODEL_SHARDING_H_
