// Measures where the time of a training step goes, and what the trainer costs beside task and optimizer.
//
// BM_TrainerStep: steps of a task that computes nothing. 1 300 parameters: two networks of two
// layers of 16 on 22 features; 32 structures in a batch, 1000 in an epoch; one term (energies) and three (forces and
// stress as well). An epoch's share of log and loader is in it, start and end of the run are not (they are of one
// run of 20 000 steps).
//
// BM_EnergyStep: data/tio2-pbe (403 structures of 6 atoms, 13 steps in an epoch) in batches of 32, by one thread. A
// task around the real one notes when its calls begin and end. ns_batch, ns_gradient and ns_step are medians over
// steps, which other processes disturb little; ns_rest is what is left of a step without them and the optimizer
// (ns_adam, timed alone): the loader, clearing, combining and clipping of gradients, and four looks at the clock.
// ns_epoch is what the step between two epochs takes longer: shuffling, the log.

#include <ATen/core/Tensor.h>
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/logging.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/optimizer/optimizer.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/task/task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_file.h"
#include "lib/train/files/run_directory.h"
#include "lib/train/options/split.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/trainer.h"

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

Split TrainOnAll(const Task& task) {
  Split split;
  split.train.resize(task.num_examples());
  std::iota(split.train.begin(), split.train.end(), 0);
  return split;
}

TrainerOptions Options(int64_t max_epochs) {
  TrainerOptions options;
  options.optimizer = DefaultOptimizerOptions("adam").value();
  options.check_gradient = false;
  options.save_interval = absl::InfiniteDuration();
  options.stop.max_epochs = max_epochs;
  options.mode = RunMode::kOverwrite;
  return options;
}

std::string Temporary() {
  const char* temporary = std::getenv("TMPDIR");
  return absl::StrCat(temporary != nullptr ? temporary : "/tmp", "/trainer_benchmark_", ::getpid());
}

void BM_TrainerStep(benchmark::State& state) {
  IdleTask task(static_cast<int>(state.range(0)));
  const Split split = TrainOnAll(task);
  TrainerOptions options = Options(625);
  options.num_workers = static_cast<int>(state.range(1));
  const std::string dir = Temporary();
  int64_t steps = 0;
  for (auto _ : state) {
    const auto result = Train(task, split, options, dir, {});
    CHECK(result.ok()) << result.status();
    steps += result->steps;
  }
  state.SetItemsProcessed(steps);
}
BENCHMARK(BM_TrainerStep)->Args({1, 0})->Args({3, 0})->Args({1, 2})->ArgNames({"terms", "workers"});

using Clock = std::chrono::steady_clock;

std::unique_ptr<AtomisticTask> Tio2Task(const std::vector<int>& hidden) {
  FeaturizeOptions featurize;
  featurize.descriptor.species = {22, 8};
  featurize.descriptor.rad_order = 5;
  featurize.descriptor.rad_cutoff = 4;
  featurize.descriptor.ang_cutoff = 3;
  const std::string path = Temporary() + ".safetensors";
  const auto stats = Featurize({"data/tio2-pbe/tio2-pbe.extxyz"}, path, featurize, {});
  CHECK(stats.ok()) << stats.status() << " (run from the root of the repository)";
  const absl::StatusOr<AtomicData> data = AtomicData::Read({path}, {});
  CHECK(data.ok()) << data.status();
  ::unlink(path.c_str());
  std::vector<int64_t> all(data->num_structures());
  std::iota(all.begin(), all.end(), 0);
  AtomisticTaskOptions options;
  options.hidden = hidden;
  auto task = AtomisticTask::Create(*data, options, all);
  CHECK(task.ok()) << task.status();
  return *std::move(task);
}

// Wraps a task and records when the calls of a step begin and end.
class TimedTask : public Task {
 public:
  struct Step {
    Clock::time_point batch_begin, batch_end, gradient_begin, gradient_end;
  };
  TimedTask(std::unique_ptr<Task> task, std::vector<Step>* steps) : task_(std::move(task)), steps_(steps) {}

  absl::Status MakeBatch(absl::Span<const int64_t> examples, NamedTensors* batch) const override {
    Step step;
    step.batch_begin = Clock::now();
    const absl::Status status = task_->MakeBatch(examples, batch);
    step.batch_end = Clock::now();
    steps_->push_back(step);
    return status;
  }
  absl::Status AccumulateGradients(const Tensor& parameters, const NamedTensors& batch, absl::Span<Tensor> gradients,
                                   TermSums* sums) override {
    steps_->back().gradient_begin = Clock::now();
    const absl::Status status = task_->AccumulateGradients(parameters, batch, gradients, sums);
    steps_->back().gradient_end = Clock::now();
    return status;
  }

  int64_t num_examples() const override { return task_->num_examples(); }
  double ExampleCost(int64_t example) const override { return task_->ExampleCost(example); }
  DType parameter_dtype() const override { return task_->parameter_dtype(); }
  std::vector<ParameterSlice> parameter_slices() const override { return task_->parameter_slices(); }
  Tensor InitialParameters(uint64_t seed) const override { return task_->InitialParameters(seed); }
  std::vector<LossTerm> terms() const override { return task_->terms(); }
  Loss CombineTerms(const TermSums& sums) const override { return task_->CombineTerms(sums); }
  at::Tensor ExampleLosses(const at::Tensor& parameters, const NamedTensors& batch) const override { std::abort(); }
  std::vector<double> ExampleCounts(const NamedTensors& batch) const override { std::abort(); }
  int num_metric_sums() const override { return task_->num_metric_sums(); }
  absl::Status Evaluate(const Tensor& parameters, const NamedTensors& batch, TermSums* sums,
                        absl::Span<double> metric_sums) override {
    return task_->Evaluate(parameters, batch, sums, metric_sums);
  }
  std::vector<Metric> Metrics(absl::Span<const double> metric_sums) const override {
    return task_->Metrics(metric_sums);
  }
  absl::Status WriteModel(absl::string_view path, const Tensor& parameters, const Metadata& extra) const override {
    return task_->WriteModel(path, parameters, extra);
  }

 private:
  const std::unique_ptr<Task> task_;
  std::vector<Step>* const steps_;
};

double Nanoseconds(Clock::duration time) { return std::chrono::duration<double, std::nano>(time).count(); }

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Returns the time of Adam's step; its data are in the first-level cache, as they nearly are in training.
double AdamNanoseconds(const Task& task) {
  constexpr int kSteps = 20;
  const auto adam = MakeOptimizer(DefaultOptimizerOptions("adam").value(), DType::kF32, task.num_parameters());
  Tensor parameters = task.InitialParameters(1);
  const Tensor gradient = task.InitialParameters(2);
  std::vector<double> times;
  for (int repetition = 0; repetition < 1000; ++repetition) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kSteps; ++i) adam->Step(1e-3, gradient, &parameters);
    times.push_back(Nanoseconds(Clock::now() - begin) / kSteps);
  }
  return Median(times);
}

void BM_EnergyStep(benchmark::State& state) {
  const auto width = static_cast<int>(state.range(0));
  std::vector<TimedTask::Step> steps;
  steps.reserve(1 << 20);
  TimedTask task(Tio2Task({width, width}), &steps);
  const Split split = TrainOnAll(task);
  const int64_t per_epoch = (task.num_examples() + 31) / 32;
  std::vector<double> inside, between, batch, gradient;
  for (auto _ : state) {
    steps.clear();
    const auto result = Train(task, split, Options(200), Temporary(), {});
    CHECK(result.ok()) << result.status();
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      const double time = Nanoseconds(steps[i + 1].batch_begin - steps[i].batch_begin);
      if ((i + 1) % per_epoch == 0) {
        between.push_back(time);
        continue;
      }
      inside.push_back(time);
      batch.push_back(Nanoseconds(steps[i].batch_end - steps[i].batch_begin));
      gradient.push_back(Nanoseconds(steps[i].gradient_end - steps[i].gradient_begin));
    }
  }
  const double adam = AdamNanoseconds(task);
  state.SetItemsProcessed(static_cast<int64_t>(inside.size() + between.size()));
  state.counters["ns_step"] = Median(inside);
  state.counters["ns_batch"] = Median(batch);
  state.counters["ns_gradient"] = Median(gradient);
  state.counters["ns_adam"] = adam;
  state.counters["ns_rest"] = Median(inside) - Median(batch) - Median(gradient) - adam;
  state.counters["ns_epoch"] = Median(between) - Median(inside);
}
BENCHMARK(BM_EnergyStep)->Arg(15)->Arg(16)->ArgName("hidden")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rutile
