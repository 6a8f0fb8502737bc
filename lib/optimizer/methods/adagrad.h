// Adagrad (Duchi, Hazan & Singer, JMLR 2011), with the formulas of torch.optim.

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_H_

#include <cstdint>
#include <vector>

#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/optimizer/step_visitor.h"

namespace rutile {

// Its state consists of sum [n] of the parameters' type and step i64 [].
class Adagrad : public Optimizer {
 public:
  Adagrad(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  void VisitStep(StepVisitor* visitor) const override { visitor->Adagrad(now_, ranges_, sum_); }
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

 private:
  template <typename T>
  void Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);

  const OptimizerOptions options_;
  const std::vector<ParameterRange> ranges_;
  AdagradStep now_;  // the current step
  int64_t step_ = 0;
  Tensor sum_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_H_
