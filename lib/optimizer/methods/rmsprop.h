// RMSprop (Tieleman & Hinton 2012), centered (Graves 2013) or not, with or without momentum, with the formulas of
// torch.optim.

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_RMSPROP_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_RMSPROP_H_

#include <cstdint>
#include <vector>

#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/optimizer/step_visitor.h"

namespace rutile {

// Its state consists of square_avg [n], step i64 [], if centered grad_avg [n], and with momentum momentum_buffer [n];
// all of the parameters' type except step.
class Rmsprop : public Optimizer {
 public:
  Rmsprop(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  void VisitStep(StepVisitor* visitor) const override {
    visitor->Rmsprop(now_, ranges_, square_avg_, grad_avg_, momentum_);
  }
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

 private:
  template <typename T>
  void Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);

  const OptimizerOptions options_;
  const std::vector<ParameterRange> ranges_;
  RmspropStep now_;  // the current step
  int64_t step_ = 0;
  Tensor square_avg_;
  Tensor grad_avg_;  // [n], or [0] unless centered
  Tensor momentum_;  // [n], or [0] when momentum is 0
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_RMSPROP_H_
