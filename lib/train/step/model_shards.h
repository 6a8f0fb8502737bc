// A model that several processes own in parts, as Task::ShardModel divides it: who moves what, and how it becomes whole
// again.
//
// Each process keeps memory for all parameters and their optimizer's state, of which only its own and nobody's parts
// are up to date between steps. Nobody's are moved by all alike.

#ifndef RUTILE_LIB_TRAIN_STEP_MODEL_SHARDS_H_
#define RUTILE_LIB_TRAIN_STEP_MODEL_SHARDS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/distributed/agreement.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/task/gradient_observer.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class ModelShards {
 public:
  // Divides the task's model until this object goes. Both must outlive it; the agreement is with others. The errors of
  // Task::ShardModel.
  static absl::StatusOr<std::unique_ptr<ModelShards>> Create(Task* task, Agreement* agreement);
  ~ModelShards();
  ModelShards(const ModelShards&) = delete;
  ModelShards& operator=(const ModelShards&) = delete;

  // Of the flat parameters, ascending.
  const std::vector<GradientRange>& owned() const { return owned_; }
  const std::vector<GradientRange>& replicated() const { return replicated_; }
  // Both: what a step of this process moves.
  const std::vector<GradientRange>& updated() const { return updated_; }

  // gradient [P]: what nobody owns is summed over all processes, in one go with agreeing. own_squares: the sum of
  // squares of `weight` times this process's own gradient. Returns the norm of `weight` times the whole one.
  absl::StatusOr<double> Complete(double weight, double own_squares, Tensor* gradient);

  // values: numbers of the parameters in `ranges`, in their order, as optimizers keep them. Up to date in all
  // processes afterward, to the same bits, but that -0 becomes 0.
  absl::Status AllGather(absl::Span<const ParameterRange> ranges, Tensor* values);

 private:
  ModelShards(Task* task, Agreement* agreement, const std::vector<std::vector<GradientRange>>& owned);

  Task* const task_;
  Agreement* const agreement_;
  std::vector<GradientRange> owned_, replicated_, updated_;
  std::vector<double> buffer_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_MODEL_SHARDS_H_
