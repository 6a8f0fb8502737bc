// Several optimizers, each for a group of parameters, moving together or in turns.

#ifndef RUTILE_LIB_OPTIMIZER_GROUPED_OPTIMIZER_H_
#define RUTILE_LIB_OPTIMIZER_GROUPED_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/task/task.h"

namespace rutile {

// Each group's learning rate is the step's times (group's rate / run's rate). A group that rests keeps its parameters,
// its moments and its count of steps.
//
// State: that of group g (from 0; the default group is the last) as groupG.NAME; turns_step i64 [] where they take
// turns: steps done.
class GroupedOptimizer : public Optimizer {
 public:
  // options have passed their checks and fit the slices (AssignGroups); CHECK-fails otherwise.
  GroupedOptimizer(const OptimizerOptions& run, const ParameterGroupOptions& options, DType dtype,
                   absl::Span<const ParameterSlice> slices);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  const Tensor& EvaluationParameters(const Tensor& parameters) override;
  const std::vector<bool>& frozen() const override;
  NamedTensors State() const override;
  // What does not fit in one group changes no group before it, either.
  absl::Status SetState(const NamedTensors& state) override;

 private:
  struct Group {
    std::unique_ptr<Optimizer> optimizer;
    double rate_scale = 1;
    std::vector<bool> others;  // [slices] what rests in its turn
  };
  // The group whose turn it is.
  size_t turn() const { return (step_ / alternate_steps_) % groups_.size(); }
  static NamedTensors PartOf(size_t group, const NamedTensors& state);

  const int64_t alternate_steps_;  // 0: all move
  std::vector<Group> groups_;
  absl::Span<const Group> moving_;  // in the step that has begun
  int64_t step_ = 0;
};

// What the one optimizer of a task without groups moves: all but buffers.
std::vector<ParameterRange> TrainedRanges(const ParameterGroupOptions& options, const Task& task);

// For all parameters of a task: one optimizer, or one for each group. One group without groups' options is
// MakeOptimizer(run, dtype, num_parameters), and its state is named as there. CHECKs as above.
std::unique_ptr<Optimizer> MakeTrainingOptimizer(const OptimizerOptions& run, const ParameterGroupOptions& options,
                                                 const Task& task);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GROUPED_OPTIMIZER_H_
