// Combines several optimizers, one for each group of parameters, which move together or in turns.

#ifndef RUTILE_LIB_OPTIMIZER_GROUPED_OPTIMIZER_H_
#define RUTILE_LIB_OPTIMIZER_GROUPED_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/parameter_range.h"
#include "lib/optimizer/step_visitor.h"
#include "lib/task/task.h"

namespace rutile {

// Each group's learning rate is the step's rate times (group's rate / run's rate). A frozen group keeps its parameters,
// its moments and its step count.
//
// The state of group g (from 0; the default group is the last) is named groupG.NAME. If groups take turns, turns_step
// i64 [] holds the number of steps done.
class GroupedOptimizer : public Optimizer {
 public:
  // `options` must have passed their checks and fit the slices (AssignGroups); CHECK-fails otherwise.
  GroupedOptimizer(const OptimizerOptions& run, const ParameterGroupOptions& options, DType dtype,
                   absl::Span<const ParameterSlice> slices);

  void BeginStep(double learning_rate) override;
  void PassStep() override { ++step_; }  // turns are those of the run's steps
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  void VisitStep(StepVisitor* visitor) const override;
  const Tensor& EvaluationParameters(const Tensor& parameters) override;
  const std::vector<bool>& frozen() const override;
  NamedTensors State() const override;
  // If the state of one group does not fit, no group changes.
  absl::Status SetState(const NamedTensors& state) override;
  int64_t PartEnd(int64_t position) const override;

 private:
  struct Group {
    std::unique_ptr<Optimizer> optimizer;
    double rate_scale = 1;
    std::vector<bool> others;  // [slices] true for slices frozen during this group's turn
  };
  // Returns the group whose turn it is.
  size_t turn() const { return (step_ / alternate_steps_) % groups_.size(); }
  static NamedTensors PartOf(size_t group, const NamedTensors& state);

  const int64_t alternate_steps_;  // 0: all groups move in each step
  std::vector<Group> groups_;
  absl::Span<const Group> moving_;  // the groups that move in the current step
  int64_t step_ = 0;
};

// Returns the ranges that a run without groups trains: everything but buffers.
std::vector<ParameterRange> TrainedRanges(const ParameterGroupOptions& options, const Task& task);

// Returns why a step may not leave rows without a gradient alone: "optimizer adam moves rows without a gradient, too".
// "" if Optimizer::StepRows of MakeTrainingOptimizer's optimizer gives the bits of Step.
std::string WhyNotRowsAlone(const OptimizerOptions& run, const ParameterGroupOptions& options);

// Returns the optimizer for all parameters of a task: a single one, or one for each group. With a single group and no
// options of its own it equals MakeOptimizer(run, dtype, num_parameters), with the same names of state. CHECK-fails
// like the constructor of GroupedOptimizer.
std::unique_ptr<Optimizer> MakeTrainingOptimizer(const OptimizerOptions& run, const ParameterGroupOptions& options,
                                                 const Task& task);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GROUPED_OPTIMIZER_H_
