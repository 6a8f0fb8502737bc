// A task small enough to check by hand: linear regression on made-up data, with gradients in closed form.
//
//   term "value" (V^2):      (w.x_i + b - y_i)^2,  every example
//   term "slope" ((V/m)^2):  (w.d_i - s_i)^2,      examples 0, 3, 6, ... (the others lack it)
//   term "strain" (1):       (w.c_i - k_i)^2,      with strain_every = n: examples n - 1, 2 n - 1, ...
//   loss = (1 - alpha - beta) mean(value) + alpha mean(slope) + beta mean(strain), or of the roots of these means
//
// It can resample the slopes that it learns from in each epoch, and draws examples by energy (y) or error, as
// potentials do. y and s come from known w and b, exactly or with noise, so that the result of training is known.
//
//   ToyTask task(ToyTaskOptions{});
//   NamedTensors batch;
//   ASSERT_TRUE(task.MakeBatch({0, 1, 2}, &batch).ok());
//   EXPECT_EQ(CheckGradients(task, task.InitialParameters(1), batch), absl::OkStatus());

#ifndef RUTILE_LIB_TESTING_TOY_TASK_H_
#define RUTILE_LIB_TESTING_TOY_TASK_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/task/example_sampling.h"
#include "lib/task/sampling_policy.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// The size of the data, the form of the loss, and faults to simulate.
struct ToyTaskOptions {
  int64_t num_examples = 40;
  int64_t num_features = 3;
  DType dtype = DType::kF64;
  double noise = 0;
  double alpha = 0.25;
  int64_t strain_every = 0;     // 0: there is no third term
  double beta = 0.125;          // weight of the third term, with strain_every
  double slope_fraction = 1;    // share of the slopes that an epoch trains on, drawn anew for each epoch
  bool root = false;            // aenet's form of the loss, roots of the means
  bool wrong_gradient = false;  // AccumulateGradients adds 1 % too much to the last weight
  bool wrong_sum = false;       // AccumulateGradients adds 1 % too much to the first sum
  double example_cost = 1;
  int64_t nan_example = -1;      // an example whose y is NaN
  int64_t failing_example = -1;  // an example for which MakeBatch returns INVALID_ARGUMENT
};

// The task described above, which records and checks how trainers call it.
class ToyTask : public Task, public ExampleSampling {
 public:
  explicit ToyTask(const ToyTaskOptions& options);

  int64_t num_examples() const override { return options_.num_examples; }
  double ExampleCost(int64_t example) const override { return options_.example_cost; }
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override;

  // CHECK-fails if a batch is being made.
  void StartEpoch(int64_t epoch, bool training) override;
  ExampleSampling* sampling() override { return this; }
  std::vector<double> SamplingWeights(SamplingPolicy policy, absl::Span<const int64_t> examples) override;
  // Returns last_error f64 [N] after SamplingWeights was called for error_weighted, else nothing.
  NamedTensors State() const override;
  absl::Status SetState(const NamedTensors& state) override;
  // The calls of StartEpoch: "train 0", "validate 0", ...
  const std::vector<std::string>& epochs() const { return epochs_; }

  DType parameter_dtype() const override { return options_.dtype; }
  std::vector<ParameterSlice> parameter_slices() const override;
  Tensor InitialParameters(uint64_t seed) const override;
  // The parameters [w, b] that the data were made from.
  const std::vector<double>& true_parameters() const { return true_parameters_; }

  std::vector<LossTerm> terms() const override;
  Loss CombineTerms(const TermSums& sums) const override;
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override;
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override;
  // Gives NaN to frozen parameters.
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override;

  int num_metric_sums() const override { return 2; }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override;
  // Returns value_mae (V).
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override;

  // Writes a file of kind toy/1 with the tensor "parameters".
  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override;

 private:
  int num_terms() const { return options_.strain_every > 0 ? 3 : 2; }
  bool Has(int term, int64_t example) const;

  const ToyTaskOptions options_;
  std::vector<double> true_parameters_;
  std::vector<double> x_[3], y_[3];  // inputs [N, F] and values [N] of each term
  std::vector<double> last_error_;   // [N] NaN if not seen yet; empty until error_weighted is asked for
  std::vector<std::string> epochs_;
  int64_t epoch_ = 0;
  bool training_ = false;
  mutable std::atomic<int> batches_being_made_{0};
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_TOY_TASK_H_
