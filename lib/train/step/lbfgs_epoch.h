// Trains an epoch by one iteration of L-BFGS on the loss of all examples.

#ifndef RUTILE_LIB_TRAIN_STEP_LBFGS_EPOCH_H_
#define RUTILE_LIB_TRAIN_STEP_LBFGS_EPOCH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/optimizer/methods/lbfgs.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/train/step/data_loader.h"
#include "lib/train/step/epoch_trainer.h"
#include "lib/train/step/loss_gradient.h"

namespace rutile {

// Evaluates the loss of the whole training set as often as the line search requests.
class LbfgsEpoch : public EpochTrainer {
 public:
  explicit LbfgsEpoch(const EpochContext& context);

  absl::Status Train(EpochWork* work) override;
  void Suspend() override {}  // no batch is made between calls
  std::string Finished() const override { return converged_ ? "L-BFGS has converged" : ""; }
  void Reopen() override { converged_ = false; }
  const Tensor& EvaluationParameters() const override { return context_.state.parameters; }
  // Contains the history of Lbfgs and, once it has converged, "converged" u8 [].
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

 private:
  // Returns the loss of all examples at `parameters`, and sets its gradient.
  absl::StatusOr<double> Evaluate(const Tensor& parameters, Tensor* gradient);

  const EpochContext context_;
  DataLoader loader_;
  LossGradient loss_;
  Lbfgs lbfgs_;
  EpochWork* work_ = nullptr;  // of the current call of Train
  bool converged_ = false;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_STEP_LBFGS_EPOCH_H_
