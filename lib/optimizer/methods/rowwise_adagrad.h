// Adagrad with one sum of squares for each row of a table, in place of one for each number.
//
// For a row of d numbers with the gradient g' (with weight_decay, g + weight_decay p), as in PyTorch-BigGraph (Lerer et
// al., SysML 2019, arXiv:1903.12287, section 4.3):
//   s += 1/d sum_j g'_j^2
//   p -= step_size * g' / (sqrt(s) + epsilon)
// Parameters that are of no table have rows of one number: for them this is Adagrad (adagrad.h).

#ifndef RUTILE_LIB_OPTIMIZER_METHODS_ROWWISE_ADAGRAD_H_
#define RUTILE_LIB_OPTIMIZER_METHODS_ROWWISE_ADAGRAD_H_

#include <cstdint>
#include <vector>

#include "lib/optimizer/methods/adagrad_sums.h"
#include "lib/optimizer/optimizer.h"
#include "lib/optimizer/optimizer_steps.h"

namespace rutile {

// Its state is that of AdagradSums, with a sum for each row, range by range.
class RowwiseAdagrad : public Optimizer {
 public:
  // Rows are ParameterRange::row numbers long, of which each range has a whole number (CHECK-fails otherwise). A part
  // of a step must consist of whole rows (CHECK-fails otherwise).
  RowwiseAdagrad(const OptimizerOptions& options, DType dtype, std::vector<ParameterRange> ranges);

  void BeginStep(double learning_rate) override;
  void StepPart(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters) override;
  NamedTensors State() const override { return sums_.State(); }
  absl::Status SetState(const NamedTensors& state) override { return sums_.SetState(state); }

 private:
  template <typename T>
  void Update(int64_t begin, const Tensor& gradient, double scale, Tensor* parameters);
  int64_t PartEnd(int64_t position) const override;

  const OptimizerOptions options_;
  const std::vector<ParameterRange> ranges_;
  const std::vector<int64_t> first_;  // of each range: its first row in the sums; then the number of rows
  AdagradStep now_;                   // the current step
  AdagradSums sums_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_METHODS_ROWWISE_ADAGRAD_H_
