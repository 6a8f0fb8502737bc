// An epoch of steps over batches: make the batch, gradient of each term, loss, clipping, optimiser.

#ifndef RUTILE_LIB_TRAIN_BATCH_EPOCH_H_
#define RUTILE_LIB_TRAIN_BATCH_EPOCH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "lib/train/data_loader.h"
#include "lib/train/epoch_trainer.h"
#include "lib/train/loss_gradient.h"
#include "lib/train/optimizer.h"

namespace rutile {

class BatchEpoch : public EpochTrainer {
 public:
  explicit BatchEpoch(const EpochContext& context);

  // Also the errors of Task::SamplingWeights.
  absl::Status Train(EpochWork* work, std::string* reason) override;
  NamedTensors State() const override { return optimizer_->State(); }
  absl::Status SetState(const NamedTensors& state) override { return optimizer_->SetState(state); }

 private:
  absl::Status Start();
  absl::Status Step(const NamedTensors& batch, EpochWork* work);

  const EpochContext context_;
  DataLoader loader_;
  LossGradient loss_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_BATCH_EPOCH_H_
