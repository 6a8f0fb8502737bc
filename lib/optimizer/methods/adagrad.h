// Adagrad (Duchi, Hazan & Singer, JMLR 2011), with the formulas of torch.optim.

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_H_

#include <cstdint>
#include <vector>

#include "lib/optimizer/methods/adagrad_sums.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/optimizer/step_visitor.h"

namespace rutile {

// Its state is that of AdagradSums, with a sum for each parameter.
class Adagrad : public Optimizer {
 public:
  Adagrad(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  void VisitStep(StepVisitor* visitor) const override { visitor->Adagrad(now_, ranges_, sums_.sum()); }
  NamedTensors State() const override { return sums_.State(); }
  absl::Status SetState(const NamedTensors& state) override { return sums_.SetState(state); }

 private:
  template <typename T>
  void Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);

  const OptimizerOptions options_;
  const std::vector<ParameterRange> ranges_;
  AdagradStep now_;  // the current step
  AdagradSums sums_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_ADAGRAD_H_
