// Trains an epoch by optimizer steps over batches.

#ifndef RUTILE_LIB_TRAIN_STEP_BATCH_EPOCH_H_
#define RUTILE_LIB_TRAIN_STEP_BATCH_EPOCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/optimizer/fused_step.h"
#include "lib/optimizer/optimizer.h"
#include "lib/train/step/data_loader.h"
#include "lib/train/step/device_step.h"
#include "lib/train/step/epoch_trainer.h"
#include "lib/train/step/loss_gradient.h"

namespace rutile {

// Each step makes its batches, differentiates the loss terms, forms the loss, clips, and steps the optimizer. Where
// possible, the optimizer updates parameters while their gradient is still being made (FusedStep). On a GPU, parameters
// and the optimizer's state stay there until AllGather where that is possible (DeviceStep).
class BatchEpoch : public EpochTrainer {
 public:
  explicit BatchEpoch(const EpochContext& context);

  // Besides the errors of EpochTrainer::Train, returns those of SamplingWeightsOf.
  absl::Status Train(EpochWork* work) override;
  void Suspend() override;
  const Tensor& EvaluationParameters() const override {
    return optimizer_->EvaluationParameters(context_.state.parameters);
  }
  absl::Status AllGather() override;
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

 private:
  absl::Status Start();
  // Averages the task's buffers (batch-norm statistics) over processes, each of which saw only its share of the batch.
  absl::Status AverageBuffers();
  absl::Status Step(EpochWork* work);
  // Clips the gradient and steps the optimizer, unless a fused step has already begun to do so.
  absl::Status MoveParameters();
  // Lets the task set its buffers, and updates the moving average after a step that `counts`.
  absl::Status FinishStep(bool counts);
  // Bytes that the optimizer reads and writes per step (for profiles).
  int64_t StepBytes();
  // True if the next step may be fused into the gradient pass. Clipping, accumulation of batches, a sum over processes
  // and frozen parameters forbid it, because the final gradient is not known in time; a device has a step of its own.
  bool StepsEarly();
  // Adds the batch with a fused step. Returns false, having done nothing, if the step's weight is 0 or not finite.
  absl::StatusOr<bool> AddStepping(const NamedTensors& batch);
  // Adds the batches of a step, up to batch number `end`; returns their loss and leaves its gradient in loss_. If all
  // of their examples are left out it returns NaN: the step counts and moves nothing.
  absl::StatusOr<double> AddBatches(int64_t end, EpochWork* work);

  const EpochContext context_;
  DataLoader loader_;
  const std::unique_ptr<DeviceStep> device_;  // nullptr: the optimizer steps on the host
  LossGradient loss_;
  std::unique_ptr<Optimizer> optimizer_;
  FusedStep early_;
  bool learns_ = false;     // the step has an example that is not left out
  bool stepping_ = false;   // early_ has begun to update parameters
  int64_t step_bytes_ = 0;  // 0: not counted yet
  bool started_ = false;    // the loader has started this epoch
  bool whole_ = true;       // false: the host does not have all of the model until AllGather
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_BATCH_EPOCH_H_
