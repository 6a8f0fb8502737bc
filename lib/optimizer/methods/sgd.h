// Stochastic gradient descent with momentum, dampening and Nesterov momentum, with the formulas of torch.optim.SGD.

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_SGD_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_SGD_H_

#include <cstdint>
#include <vector>

#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/optimizer/step_visitor.h"

namespace rutile {

// Its state consists of step i64 [] and, with momentum, momentum_buffer [n] of the parameters' type.
class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  void VisitStep(StepVisitor* visitor) const override { visitor->Sgd(now_, ranges_, momentum_); }
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

 private:
  template <typename T>
  void Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);

  const OptimizerOptions options_;
  const std::vector<ParameterRange> ranges_;
  const DType dtype_;
  SgdStep now_;       // the current step
  int64_t step_ = 0;  // the first one is not dampened
  Tensor momentum_;   // [n], or [0] when momentum is 0
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_SGD_H_
