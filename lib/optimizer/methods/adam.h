// Adam (Kingma & Ba, ICLR 2015) and AdamW (Loshchilov & Hutter, ICLR 2019), both also as AMSGrad (Reddi, Kale & Kumar,
// ICLR 2018), with the formulas of torch.optim.

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_ADAM_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_ADAM_H_

#include <cstdint>
#include <vector>

#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/optimizer/step_visitor.h"

namespace rutile {

// Its state consists of exp_avg [n] and exp_avg_sq [n] of the parameters' type and step i64 []; with amsgrad also of
// max_exp_avg_sq [n], the largest value that each element of exp_avg_sq has had.
class Adam : public Optimizer {
 public:
  // options.kind selects Adam (adds weight decay to the gradient) or AdamW (decays the parameters directly).
  Adam(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  double StepPartKeeping(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters,
                         Tensor* kept) override;
  void VisitStep(StepVisitor* visitor) const override {
    visitor->Adam(now_, ranges_, exp_avg_, exp_avg_sq_, max_exp_avg_sq_);
  }
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

 private:
  template <typename T>
  double Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters, Tensor* kept);

  const OptimizerOptions options_;
  const std::vector<ParameterRange> ranges_;
  AdamStep now_;  // the current step
  int64_t step_ = 0;
  Tensor exp_avg_;
  Tensor exp_avg_sq_;
  Tensor max_exp_avg_sq_;  // of no elements without amsgrad
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_ADAM_H_
