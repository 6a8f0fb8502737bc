// Tests training with --precision=bf16-mixed by the tasks' own kernels: gradients, evaluation, checks, and convergence.

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/task_options.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/potential/training/force_task.h"
#include "lib/task/task.h"
#include "lib/task/torch/gradient_comparison.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

AtomicData Tio2() {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_order = 4;
  options.descriptor->chebyshev().rad_cutoff = 4;
  options.descriptor->chebyshev().ang_order = 3;
  options.descriptor->chebyshev().ang_cutoff = 3;
  absl::StatusOr<AtomicData> data = AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  return *data;
}

constexpr int kTrain = 60;

struct Choice {
  bool forces = false, mixed = true;
  int threads = 1;
  CompilePreset preset = CompilePreset::kDefault;
};

absl::StatusOr<std::unique_ptr<Task>> TryMake(const AtomicData& data, const Choice& choice, DType precision) {
  AtomisticTaskOptions options;
  options.hidden = {40, 33};
  options.precision = precision;
  options.mixed_precision = choice.mixed;
  options.num_threads = choice.threads;
  options.loss.kind = LossKind::kMse;
  options.compile.preset = choice.preset;
  std::vector<int64_t> train(kTrain);
  std::iota(train.begin(), train.end(), 0);
  if (!choice.forces) return AtomisticTask::Create(data, options, train);
  options.loss.force_weight = 0.2;
  return ForceTask::Create(data, options, train);
}

std::unique_ptr<Task> Make(const AtomicData& data, const Choice& choice) {
  absl::StatusOr<std::unique_ptr<Task>> task = TryMake(data, choice, DType::kF32);
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

NamedTensors Batch(const Task& task) {
  NamedTensors batch;
  std::vector<int64_t> examples(32);
  std::iota(examples.begin(), examples.end(), 5);
  EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
  return batch;
}

std::vector<Tensor> Gradients(Task& task, const Tensor& parameters, TermSums* sums) {
  std::vector<Tensor> gradients;
  for (size_t t = 0; t < task.terms().size(); ++t) {
    gradients.push_back(Tensor::Zeros(DType::kF32, {task.num_parameters()}));
  }
  EXPECT_TRUE(task.AccumulateGradients(parameters, Batch(task), absl::MakeSpan(gradients), sums).ok());
  return gradients;
}

std::vector<Tensor> Gradients(Task& task, const Tensor& parameters) {
  TermSums sums(static_cast<int>(task.terms().size()));
  return Gradients(task, parameters, &sums);
}

std::vector<double> Evaluate(Task& task, const Tensor& parameters) {
  TermSums sums(static_cast<int>(task.terms().size()));
  std::vector<double> metrics(task.num_metric_sums());
  EXPECT_TRUE(task.Evaluate(parameters, Batch(task), &sums, absl::MakeSpan(metrics)).ok());
  return metrics;
}

class MixedPrecisionTest : public ::testing::TestWithParam<bool> {
 protected:
  bool forces() const { return GetParam(); }
  const AtomicData data_ = Tio2();
};

TEST_P(MixedPrecisionTest, RoundsInTrainingAlone) {
  const std::unique_ptr<Task> mixed = Make(data_, {forces()}), plain = Make(data_, {forces(), /*mixed=*/false});
  const Tensor parameters = plain->InitialParameters(3);
  const std::vector<double> before = Evaluate(*mixed, parameters);
  const std::vector<Tensor> rounded = Gradients(*mixed, parameters), exact = Gradients(*plain, parameters);
  for (size_t t = 0; t < exact.size(); ++t) {
    // The tolerance is about 1 %, as for LibTorch's own mixed precision; errors of energies are differences of larger
    // numbers.
    const double difference = CompareGradients(plain->parameter_slices(), rounded[t], exact[t]).relative;
    EXPECT_LT(difference, 0.1) << t;
    EXPECT_GT(difference, 1e-4) << t;
  }
  EXPECT_EQ(Evaluate(*mixed, parameters), Evaluate(*plain, parameters));
  EXPECT_EQ(Evaluate(*mixed, parameters), before);
  mixed->SetMixedPrecision(false);
  const std::vector<Tensor> off = Gradients(*mixed, parameters);
  for (size_t t = 0; t < exact.size(); ++t) EXPECT_EQ(off[t].ToDoubles(), exact[t].ToDoubles());
  mixed->SetMixedPrecision(true);
  const std::vector<Tensor> on = Gradients(*mixed, parameters);
  for (size_t t = 0; t < exact.size(); ++t) EXPECT_EQ(on[t].ToDoubles(), rounded[t].ToDoubles());
}

// Does what the check of the first batch does (lib/train/step/first_batch_check.h).
TEST_P(MixedPrecisionTest, CanBeCheckedToThePrecisionOfFp32) {
  const std::unique_ptr<Task> mixed = Make(data_, {forces()});
  const Tensor parameters = mixed->InitialParameters(3);
  const double tolerance = 10 * ReferenceTolerance(DType::kF32);
  EXPECT_FALSE(CheckAgainstReference(*mixed, parameters, Batch(*mixed), tolerance).ok());
  mixed->SetMixedPrecision(false);
  const absl::Status status = CheckAgainstReference(*mixed, parameters, Batch(*mixed), tolerance);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(MixedPrecisionTest, ThreadsAndPresetsDoNotChangeABit) {
  const std::unique_ptr<Task> one = Make(data_, {forces()});
  const Tensor parameters = one->InitialParameters(3);
  for (const Choice& choice : {Choice{forces(), true, 2}, {forces(), true, 1, CompilePreset::kReduceOverhead}}) {
    const std::unique_ptr<Task> other = Make(data_, choice);
    EXPECT_EQ(Gradients(*other, parameters)[0].ToDoubles(), Gradients(*one, parameters)[0].ToDoubles());
  }
}

// Returns the loss of the batch without rounding.
double LossOf(Task& task, const Tensor& parameters) {
  TermSums sums(static_cast<int>(task.terms().size()));
  std::vector<double> metrics(task.num_metric_sums());
  EXPECT_TRUE(task.Evaluate(parameters, Batch(task), &sums, absl::MakeSpan(metrics)).ok());
  return task.CombineTerms(sums).value;
}

// Gradient descent on one batch reaches about the same loss with rounded gradients as with exact ones.
TEST_P(MixedPrecisionTest, LearnsAsFp32Does) {
  constexpr int kSteps = 200;
  std::vector<double> ends;
  for (const bool is_mixed : {false, true}) {
    const std::unique_ptr<Task> task = Make(data_, {forces(), is_mixed});
    Tensor parameters = task->InitialParameters(3);
    const double start = LossOf(*task, parameters);
    for (int step = 0; step < kSteps; ++step) {
      TermSums sums(static_cast<int>(task->terms().size()));
      const std::vector<Tensor> gradients = Gradients(*task, parameters, &sums);
      const Loss loss = task->CombineTerms(sums);
      std::vector<double> slope(task->num_parameters());
      for (size_t t = 0; t < gradients.size(); ++t) {
        for (size_t i = 0; i < slope.size(); ++i) slope[i] += loss.weight[t] * gradients[t].values<float>()[i];
      }
      double square = 0;
      for (const double x : slope) square += x * x;
      const double length = 0.1 * (1 - static_cast<double>(step) / kSteps) / std::sqrt(square);
      const absl::Span<float> values = parameters.mutable_values<float>();
      for (size_t i = 0; i < slope.size(); ++i) values[i] -= static_cast<float>(length * slope[i]);
    }
    ends.push_back(LossOf(*task, parameters));
    EXPECT_LT(ends.back(), 0.2 * start);
  }
  EXPECT_LT(std::abs(ends[1] - ends[0]), 0.2 * ends[0]) << ends[0] << " " << ends[1];
}

TEST_P(MixedPrecisionTest, IsOfFp32AndBelongsToTheCourse) {
  const auto made = TryMake(data_, {forces()}, DType::kF64);
  EXPECT_NE(made.status().message().find("goes with fp32 parameters"), std::string::npos) << made.status();
  EXPECT_EQ(Make(data_, {forces()})->ResumeConfig().at("precision"), "bf16-mixed");
  EXPECT_EQ(Make(data_, {forces(), /*mixed=*/false})->ResumeConfig().at("precision"), "fp32");
}

INSTANTIATE_TEST_SUITE_P(Tasks, MixedPrecisionTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Forces" : "Energies"; });

}  // namespace
}  // namespace rutile
