// Schedule-free AdamW (Defazio et al., The Road Less Scheduled, NeurIPS 2024): an average of the points passed replaces
// a falling learning rate.
//
// z takes the steps, x is its weighted average, and gradients are taken between both, at y = (1 - beta1) z + beta1 x.
// The caller's parameters are y; models are evaluated at x. With t the step from 1, lr its learning rate and lr_max the
// highest rate so far:
//   weight_t = t^weight_step_power lr_max^weight_lr_power, share = weight_t / (weight_1 + ... + weight_t)
//   v = beta2 v + (1 - beta2) g(y)^2,  d = g(y) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay y
//   z' = z - lr d,  x' = (1 - share) x + share z',  y' = (1 - beta1) z' + beta1 x'
// These are the formulas of the authors' package. The learning rate is meant to be constant after a warm-up; steps of
// the warm-up count little in the average, because the weights grow with lr_max.

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_SCHEDULE_FREE_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_SCHEDULE_FREE_H_

#include <cstdint>
#include <vector>

#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_steps.h"
#include "lib/optimizer/step_visitor.h"

namespace rutile {

// Its state consists of z [n] and exp_avg_sq [n] of the parameters' type; step i64 []; weight_sum and
// highest_learning_rate f64 [].
class ScheduleFreeAdamW : public Optimizer {
 public:
  ScheduleFreeAdamW(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  // Returns x in the ranges of this optimizer, and `parameters` elsewhere.
  const Tensor& EvaluationParameters(const Tensor& parameters) override;
  void VisitStep(StepVisitor* visitor) const override {
    visitor->ScheduleFree(now_, step_ == 1, ranges_, exp_avg_sq_, z_);
  }
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;

 private:
  template <typename T>
  void Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);
  template <typename T>
  void Start(int64_t begin, int64_t end, const Tensor& parameters);
  template <typename T>
  void Average(const Tensor& parameters);

  const OptimizerOptions options_;
  const std::vector<ParameterRange> ranges_;
  ScheduleFreeStep now_;  // the current step
  int64_t step_ = 0;
  double weight_sum_ = 0;
  double highest_learning_rate_ = 0;
  Tensor z_;
  Tensor exp_avg_sq_;
  Tensor average_;  // [P] after the first EvaluationParameters
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_SCHEDULE_FREE_H_
