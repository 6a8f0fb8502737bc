// Computes the loss of one or several batches and its gradient.

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
#include "lib/task/eager_options.h"
#include "lib/task/gradients/gradient_delivery.h"
#include "lib/task/gradients/gradient_observer.h"
#include "lib/task/gradients/row_gradients.h"
#include "lib/task/task.h"
#include "lib/task/torch/eager_gradients.h"
#include "lib/train/files/checkpoint.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/step/device_step.h"
#include "lib/train/step/model_shards.h"

namespace rutile {

// Sums terms and their gradients over batches (and processes) first and combines them only then, so that a loss of
// accumulated or distributed batches is that of the one large batch.
class LossGradient {
 public:
  // `mode` selects the source of gradients: the task's kernels, or LibTorch as `eager` configures it (CheckEager must
  // have passed). For fp16 networks gradients are scaled (grad_scaler.h) until they are combined. agreement: of the
  // processes over which Combine sums; nullptr: a single process. shards: of the task's model, among the processes of
  // `agreement`, with kCompile only; nullptr: each has the whole model. With shards, gradient() is valid in
  // ModelShards::updated() alone. device: is the source of gradients instead and has the parameters, so that neither
  // reaches the host, where gradient() is not valid; for a single process (WhyHostSteps); nullptr: gradients are
  // fetched. rows: gradients are of the rows that a batch touches (row_gradients.h), in rows(), and gradient() is not
  // valid, nor has it memory; for a single process and batches of their own steps, with kCompile. All that is passed
  // must outlive this object.
  LossGradient(Task& task, CompileMode mode, const EagerOptions& eager = {}, Agreement* agreement = nullptr,
               ModelShards* shards = nullptr, DeviceStep* device = nullptr, RowGradients* rows = nullptr);
  ~LossGradient();
  LossGradient(const LossGradient&) = delete;
  LossGradient& operator=(const LossGradient&) = delete;

  // Freezes parameters (Optimizer::frozen()): informs the task, and makes gradient() 0 there, so that norm() is of the
  // others. May be called between steps, any number of times; `slices` must live until the next call.
  void SetFrozen(const std::vector<bool>& slices);

  // Lets gradient() be unweighted where that saves a pass over it; the optimizer must then multiply by weight().
  // Callers that clip must not use this.
  void LeaveWeight() { leaves_weight_ = true; }

  // Starts a new sum.
  void Clear();
  // Adds the batch's terms and their gradients. Returns the task's errors. last: Combine comes next, so that finished
  // parts of the gradient may already be summed over processes.
  absl::Status Add(const Tensor& parameters, const NamedTensors& batch, bool last = false);
  // Adds the only batch of a fused step (FusedStep::Begin must have been called with gradient()), for a task with
  // a GradientStream. If this or Combine fails, `step` is undone. norm() is then the step's norm.
  absl::Status AddStepping(const Tensor& parameters, const NamedTensors& batch, FusedStep* step);
  // The term sums; complete after Combine.
  const TermSums& sums() const { return sums_; }
  // True if all term sums are finite; gradients are not examined.
  bool IsFinite() const;

  // Returns the loss of everything added by all processes, and sets gradient() and norm(). OUT_OF_RANGE if the loss or
  // its gradient is not finite; the message gives the position of `state` in the run and the first of `examples`. For
  // fp16 networks a gradient that is not finite may be due to the scale: overflowed() is then true instead, until the
  // scale is exhausted.
  absl::StatusOr<double> Combine(const Checkpoint& state, absl::Span<const int64_t> examples);
  const Tensor& gradient() const { return combined_; }  // [P], the parameters' type; until the next Clear
  Tensor& gradient() { return combined_; }
  // Returns the gradient of the rows that the batch touched, until the next Clear; null if all rows have one.
  RowGradient* rows() { return rows_ == nullptr ? nullptr : &row_gradient_; }
  double weight() const { return weight_; }  // 1 unless LeaveWeight applies
  double norm() const { return norm_; }      // Euclidean norm of weight() * gradient(), before clipping
  // True if the fp16 gradient overflowed: the step must be skipped and not counted. The next one has a lower scale.
  bool overflowed() const { return overflowed_; }

  // State and SetState save and restore the fp16 scaler; empty without one. INVALID_ARGUMENT naming the tensor that
  // does not fit.
  NamedTensors State() const;
  absl::Status SetState(const NamedTensors& state);

 private:
  // Delivers the gradient of a task with a GradientStream; `unset_` says whether it is overwritten.
  absl::Status Stream(const Tensor& parameters, const NamedTensors& batch, const GradientDelivery& delivery);
  // Sums terms and gradients over processes, returns their loss, and sets gradient(), weight() and norm().
  absl::StatusOr<Loss> CombineOnHost();
  // Does the same with `device_`, which takes the gradient, and sets norm() alone.
  absl::StatusOr<Loss> CombineOnDevice();
  // Sets rows(), weight() and norm().
  absl::StatusOr<Loss> CombineRows();
  // Sets gradient(), weight() and norm() from the terms' gradients and these weights.
  void Weigh(absl::Span<const double> weight);
  Tensor Part(const GradientRange& range) const { return combined_.Slice(range.begin, {range.end - range.begin}); }
  // Sets gradient(), weight() and norm() of a sharded model, whose only term has this weight.
  absl::Status WeighShards(double weight);

  Task& task_;
  const std::unique_ptr<EagerGradients> eager_;  // nullptr: the task's kernels differentiate, or device_
  std::optional<GradScaler> scaler_;             // for fp16 networks
  GradientReducer reducer_;                      // sums over processes, for models that are not sharded
  ModelShards* const shards_;
  DeviceStep* const device_;
  RowGradients* const rows_;
  RowGradient row_gradient_;
  std::vector<Tensor> gradients_;  // [T] of [P]
  const std::vector<bool>* frozen_ = nullptr;
  std::vector<Tensor> frozen_parts_;  // the frozen slices of gradients_
  Tensor combined_;                   // shares the memory of gradients_[0] if there is only one term
  TermSums sums_;
  bool leaves_weight_ = false;
  bool unset_ = false;         // gradients are uninitialized, and the task will overwrite them
  FusedStep* step_ = nullptr;  // the fused step of the batch added
  double weight_ = 1;
  double norm_ = 0;
  bool overflowed_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_LOSS_GRADIENT_H_
