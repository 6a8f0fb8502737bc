// The loss of some batches and its gradient: terms are summed first, and only then combined.

#ifndef RUTILE_LIB_TRAIN_STEP_LOSS_GRADIENT_H_
#define RUTILE_LIB_TRAIN_STEP_LOSS_GRADIENT_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/distributed/agreement.h"
#include "lib/distributed/gradient_reducer.h"
#include "lib/optimizer/fused_step.h"
#include "lib/optimizer/grad_scaler.h"
#include "lib/task/eager_gradients.h"
#include "lib/task/eager_options.h"
#include "lib/task/gradient_observer.h"
#include "lib/task/gradient_sink.h"
#include "lib/task/task.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/model_shards.h"

namespace rutile {

class LossGradient {
 public:
  // `task` must outlive it. The mode says who differentiates: the task's kernels, or LibTorch as `eager` has it
  // (CheckEager has passed). With fp16 networks gradients are scaled (grad_scaler.h) until they are combined.
  // agreement: with the processes that Combine adds up over; nullptr: alone. It must outlive this object.
  // shards: of the task's model, with the processes of `agreement`, and kCompile; nullptr: each has all of it. It must
  // outlive this object, too. Then gradient() is that of ModelShards::moved() alone.
  LossGradient(Task& task, CompileMode mode, const EagerOptions& eager = {}, Agreement* agreement = nullptr,
               ModelShards* shards = nullptr);
  ~LossGradient();
  LossGradient(const LossGradient&) = delete;
  LossGradient& operator=(const LossGradient&) = delete;

  // Optimizer::resting(): tells the task, and from now on gradient() is 0 where parameters rest, so that norm() is of
  // the others. Called between steps, any number of times; `slices` must live until the next call.
  void SetFrozen(const std::vector<bool>& slices);

  // From now on gradient() is not yet weighed, where that saves a pass over it: who takes it multiplies by weight().
  // Not for those who clip.
  void LeaveWeight() { leaves_weight_ = true; }

  // Forgets what was added.
  void Clear();
  // Adds the batch's terms and their gradients. The errors are the task's. last: Combine comes next, so that parts of
  // the gradient may already be added up over processes.
  absl::Status Add(const Tensor& parameters, const NamedTensors& batch, bool last = false);
  // Adds the only batch of a step that has begun (FusedStep::Begin, with gradient()), of a task that
  // StreamsGradients. `step` is undone where this or Combine fails, and norm() is its.
  absl::Status AddStepping(const Tensor& parameters, const NamedTensors& batch, FusedStep* step);
  // Complete after Combine.
  const TermSums& sums() const { return sums_; }
  // Whether the sums are; their gradients are not looked at.
  bool IsFinite() const;

  // The loss of what was added, by all processes; gradient() and norm() are of it. OUT_OF_RANGE when it or its gradient
  // is not finite: the message places it after what `state` has done, and names the first of `examples`. With fp16
  // networks a gradient that is not finite may be the scale's fault: overflowed() is true then, until the scale is
  // exhausted.
  absl::StatusOr<double> Combine(const Checkpoint& state, absl::Span<const int64_t> examples);
  const Tensor& gradient() const { return combined_; }  // [P], the parameters' type; until the next Clear
  Tensor& gradient() { return combined_; }
  double weight() const { return weight_; }  // 1 unless it was left
  double norm() const { return norm_; }      // of weight() gradient(), Euclidean, before anyone changed it
  // The gradient that was combined is of no use, and no step to be taken or counted: the next one has a lower scale.
  bool overflowed() const { return overflowed_; }

  // Of the scaler; empty without one. INVALID_ARGUMENT naming the tensor that does not fit.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);

 private:
  absl::Status AddKernels(const Tensor& parameters, const NamedTensors& batch, GradientObserver* observer,
                          GradientSink* sink);
  // gradient(), weight() and norm(), of gradients of terms with these weights.
  void Weigh(absl::Span<const double> weight);
  Tensor Part(const GradientRange& range) const { return combined_.Slice(range.begin, {range.end - range.begin}); }
  // The same of a model in parts.
  absl::Status WeighShards(double weight);

  Task& task_;
  const std::unique_ptr<EagerGradients> eager_;  // null: the task's kernels
  std::optional<GradScaler> scaler_;             // with fp16 networks
  GradientReducer reducer_;                      // of whole models
  ModelShards* const shards_;
  std::vector<Tensor> gradients_;  // [T] of [P]
  const std::vector<bool>* frozen_ = nullptr;
  std::vector<Tensor> frozen_parts_;  // of gradients_
  Tensor combined_;                   // the only one of gradients_, where there is one
  TermSums sums_;
  bool leaves_weight_ = false;
  bool unset_ = false;         // gradients hold anything, and the task will overwrite it
  FusedStep* step_ = nullptr;  // of what was added
  double weight_ = 1;
  double norm_ = 0;
  bool overflowed_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_LOSS_GRADIENT_H_
