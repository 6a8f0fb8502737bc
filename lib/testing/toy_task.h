// A task small enough to check by hand: linear regression on made-up data, with gradients in closed form.
//
//   term "value" (V^2):      (w.x_i + b - y_i)^2,  every example
//   term "slope" ((V/m)^2):  (w.d_i - s_i)^2,      examples 0, 3, 6, ... (the others lack it)
//   loss = (1 - alpha) mean(value) + alpha mean(slope), or of the roots of these means
//
// y and s come from known w and b, exactly or with noise, so that training has a known end.

#ifndef RUTILE_LIB_TESTING_TOY_TASK_H_
#define RUTILE_LIB_TESTING_TOY_TASK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/task/task.h"

namespace rutile {

struct ToyTaskOptions {
  int64_t num_examples = 40;
  int64_t num_features = 3;
  DType dtype = DType::kF64;
  double noise = 0;
  double alpha = 0.25;
  bool root = false;             // aenet's form: roots of the means
  bool wrong_gradient = false;   // AccumulateGradients adds 1 % too much to the last weight
  bool wrong_sum = false;        // AccumulateGradients adds 1 % too much to the first sum
  int64_t nan_example = -1;      // an example whose y is NaN
  int64_t failing_example = -1;  // an example for which MakeBatch returns INVALID_ARGUMENT
};

class ToyTask : public Task {
 public:
  explicit ToyTask(const ToyTaskOptions& options);

  int64_t num_examples() const override { return options_.num_examples; }
  double ExampleCost(int64_t example) const override { return 1; }
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;

  DType parameter_dtype() const override { return options_.dtype; }
  std::vector<ParameterSlice> parameter_slices() const override;
  Tensor InitialParameters(uint64_t seed) const override;
  // [w, b] that the data were made from.
  const std::vector<double>& true_parameters() const { return true_parameters_; }

  std::vector<LossTerm> terms() const override { return {{"value", "V^2"}, {"slope", "(V/m)^2"}}; }
  Loss CombineTerms(const TermSums& sums) const override;
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;

  int num_metric_sums() const override { return 2; }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  // value_mae (V).
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override;

  // Kind toy/1: tensor "parameters".
  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override;

 private:
  const ToyTaskOptions options_;
  std::vector<double> true_parameters_;
  std::vector<double> x_, d_, y_, s_;  // [N, F], [N, F], [N], [N]
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_TOY_TASK_H_
