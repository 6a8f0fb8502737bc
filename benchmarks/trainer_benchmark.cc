// What the trainer costs beside the task: steps of a task that computes nothing. 1 300 parameters: two networks of two
// layers of 16 on 22 features; 32 structures in a batch, 1000 in an epoch; one term (energies) and three (forces and
// stress as well). An epoch's share of log and loader is in it, start and end of the run are not (they are of one
// run of 20 000 steps).

#include <ATen/core/Tensor.h>
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/optimizer.h"
#include "lib/train/run_directory.h"
#include "lib/train/split.h"
#include "lib/train/trainer.h"
#include "lib/train/trainer_options.h"

namespace rutile {
namespace {

class IdleTask : public Task {
 public:
  explicit IdleTask(int num_terms) : num_terms_(num_terms) {}
  int64_t num_examples() const override { return 1000; }
  double ExampleCost(int64_t example) const override { return 21; }
  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override {
    return absl::OkStatus();
  }
  DType parameter_dtype() const override { return DType::kF32; }
  std::vector<ParameterSlice> parameter_slices() const override { return {{"weight", 0, {1300}}}; }
  Tensor InitialParameters(uint64_t seed) const override { return Tensor::Zeros(DType::kF32, {1300}); }
  std::vector<LossTerm> terms() const override { return std::vector<LossTerm>(num_terms_, LossTerm{"term", "eV"}); }
  Loss CombineTerms(const TermSums& sums) const override {
    Loss loss;
    loss.value = 1;
    loss.weight.assign(num_terms_, 0.5);
    return loss;
  }
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override { std::abort(); }
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override { std::abort(); }
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override {
    for (Tensor& gradient : gradients) gradient.mutable_values<float>()[0] += 1;
    return absl::OkStatus();
  }
  int num_metric_sums() const override { return 0; }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override {
    return absl::OkStatus();
  }
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override { return {}; }
  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override {
    return absl::OkStatus();
  }

 private:
  const int num_terms_;
};

void BM_TrainerStep(benchmark::State& state) {
  IdleTask task(static_cast<int>(state.range(0)));
  Split split;
  split.train.resize(task.num_examples());
  std::iota(split.train.begin(), split.train.end(), 0);
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions("adam").value();
  options.check_gradient = false;
  options.num_workers = static_cast<int>(state.range(1));
  options.save_interval = absl::InfiniteDuration();
  options.stop.max_epochs = 625;
  options.mode = RunMode::kOverwrite;
  const char* temporary = std::getenv("TMPDIR");
  const std::string dir = absl::StrCat(temporary != nullptr ? temporary : "/tmp", "/trainer_benchmark_", ::getpid());
  int64_t steps = 0;
  for (auto _ : state) {
    const auto result = Train(task, split, options, dir, {});
    CHECK(result.ok()) << result.status();
    steps += result->steps;
  }
  state.SetItemsProcessed(steps);
}
BENCHMARK(BM_TrainerStep)->Args({1, 0})->Args({3, 0})->Args({1, 2})->ArgNames({"terms", "workers"});

}  // namespace
}  // namespace rutile
