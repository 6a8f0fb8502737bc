// A task small enough to check by hand: linear regression on made-up data, with gradients in closed form.
//
//   term "value" (V^2):      (w.x_i + b - y_i)^2,  every example
//   term "slope" ((V/m)^2):  (w.d_i - s_i)^2,      examples 0, 3, 6, ... (the others lack it)
//   term "strain" (1):       (w.c_i - k_i)^2,      with strain_every = n: examples n - 1, 2 n - 1, ...
//   loss = (1 - alpha - beta) mean(value) + alpha mean(slope) + beta mean(strain), or of the roots of these means
//
// It can resample the slopes that it learns from in each epoch, and draws examples by energy (y) or error, as
// potentials do. y and s come from known w and b, exactly or with noise, so that training has a known end.

#ifndef RUTILE_LIB_TESTING_TOY_TASK_H_
#define RUTILE_LIB_TESTING_TOY_TASK_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/task/sampling_policy.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

struct ToyTaskOptions {
  int64_t num_examples = 40;
  int64_t num_features = 3;
  DType dtype = DType::kF64;
  double noise = 0;
  double alpha = 0.25;
  int64_t strain_every = 0;     // 0: there is no third term
  double beta = 0.125;          // with strain_every
  double slope_fraction = 1;    // of slopes that an epoch trains on, drawn anew for each
  bool root = false;            // aenet's form: roots of the means
  bool wrong_gradient = false;  // AccumulateGradients adds 1 % too much to the last weight
  bool wrong_sum = false;       // AccumulateGradients adds 1 % too much to the first sum
  double example_cost = 1;
  int64_t nan_example = -1;      // an example whose y is NaN
  int64_t failing_example = -1;  // an example for which MakeBatch returns INVALID_ARGUMENT
};

class ToyTask : public Task {
 public:
  explicit ToyTask(const ToyTaskOptions& options);

  int64_t num_examples() const override { return options_.num_examples; }
  double ExampleCost(int64_t example) const override { return options_.example_cost; }
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;

  // CHECK-fails while a batch is made.
  void StartEpoch(int64_t epoch, bool training) override;
  absl::StatusOr<std::vector<double>> SamplingWeights(SamplingPolicy policy,
                                                      absl::Span<const int64_t> examples) override;
  // last_error f64 [N], once error_weighted was asked for.
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;
  // "train 0", "validate 0", ...: the calls of StartEpoch.
  const std::vector<std::string>& epochs() const { return epochs_; }

  DType parameter_dtype() const override { return options_.dtype; }
  std::vector<ParameterSlice> parameter_slices() const override;
  Tensor InitialParameters(uint64_t seed) const override;
  // [w, b] that the data were made from.
  const std::vector<double>& true_parameters() const { return true_parameters_; }

  std::vector<LossTerm> terms() const override;
  Loss CombineTerms(const TermSums& sums) const override;
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // NaN for what rests.
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
  int num_terms() const { return options_.strain_every > 0 ? 3 : 2; }
  bool Has(int term, int64_t example) const;

  const ToyTaskOptions options_;
  std::vector<double> true_parameters_;
  std::vector<double> x_[3], y_[3];  // of each term: [N, F], [N]
  std::vector<double> last_error_;   // [N] NaN: not seen; empty until it is asked for
  std::vector<std::string> epochs_;
  int64_t epoch_ = 0;
  bool training_ = false;
  mutable std::atomic<int> batches_being_made_{0};
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_TOY_TASK_H_
