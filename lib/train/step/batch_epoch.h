// An epoch of steps over batches: make the batches of a step, gradient of each term, loss, clipping, optimizer.

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
#include "lib/train/step/epoch_trainer.h"
#include "lib/train/step/loss_gradient.h"

namespace rutile {

class BatchEpoch : public EpochTrainer {
 public:
  explicit BatchEpoch(const EpochContext& context);

  // Also the errors of Task::SamplingWeights.
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
  // Of the task's buffers: each process has seen its share of the batch, all go on with the mean of what they saw.
  absl::Status AverageBuffers();
  absl::Status Step(EpochWork* work);
  // The optimizer's, where it has not begun early.
  void MoveParameters();
  // That the optimizer moves between memory and processor in a step, for profiles.
  int64_t StepBytes();
  // Whether parameters of the next step may move while its gradient is made. With clipping by the norm they may not,
  // and where a sum over batches or processes is missing.
  bool StepsEarly() const;
  // Adds the batch, whose step begins before it is done. False: it cannot, and nothing has been done.
  absl::StatusOr<bool> AddStepping(const NamedTensors& batch);
  // The loss of the batches of a step, up to batch number `end`, and its gradient.
  absl::StatusOr<double> AddBatches(int64_t end, EpochWork* work);

  const EpochContext context_;
  DataLoader loader_;
  LossGradient loss_;
  std::unique_ptr<Optimizer> optimizer_;
  FusedStep early_;
  bool stepping_ = false;   // early_ has begun
  int64_t step_bytes_ = 0;  // 0: not counted yet
  bool started_ = false;    // the loader, in this epoch
  bool whole_ = true;       // the model: AllGather
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_BATCH_EPOCH_H_
