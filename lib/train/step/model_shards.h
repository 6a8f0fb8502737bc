// Shards of a model that several processes own, as ModelSharding::ShardModel divides it: which process updates which
// parameters, and how to gather the whole model.
//
// Each process allocates all parameters and their optimizer's state. Between steps only its own shard and the
// replicated part, which all processes update alike, are up to date in it.

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
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class ModelShards {
 public:
  // Shards the task's model until this object is destroyed. Both pointers must outlive it; `agreement` must have
  // several processes. INVALID_ARGUMENT if the task has no ModelSharding.
  static absl::StatusOr<std::unique_ptr<ModelShards>> Create(Task* task, Agreement* agreement);
  ~ModelShards();
  ModelShards(const ModelShards&) = delete;
  ModelShards& operator=(const ModelShards&) = delete;

  // Ranges of the flat parameters that this process owns, ascending.
  const std::vector<GradientRange>& owned() const { return owned_; }
  // Ranges that no process owns and all update alike, ascending.
  const std::vector<GradientRange>& replicated() const { return replicated_; }
  // Union of both: the ranges that a step of this process updates.
  const std::vector<GradientRange>& updated() const { return updated_; }

  // All-reduces the replicated part of `gradient` [P], in the same message as the agreement, and returns the norm of
  // `weight` times the whole gradient. own_squares: sum of squares of `weight` times the gradient that this process
  // owns.
  absl::StatusOr<double> Complete(double weight, double own_squares, Tensor* gradient);

  // Gathers optimizer-style values, one for each parameter in `ranges` and in their order. Afterward all processes have
  // the same bits, except that -0 becomes 0.
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
