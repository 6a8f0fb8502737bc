// Structures with forces and no energy are learned from: their forces count, and nothing else of them.

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/training/force_task.h"
#include "lib/potential/training/tests/mixed_labels_testing.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

using ::testing::Each;

constexpr char kAll[] = "data/tio2-pbe/tio2-pbe.extxyz";
const std::vector<int64_t> kExamples = {0, 1, 2, 3, 4, 6, 7, 10, 200, 402};

AtomicData Read(const std::string& path) {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_order = 4;
  options.descriptor->chebyshev().rad_cutoff = 4;
  options.descriptor->chebyshev().ang_order = 3;
  options.descriptor->chebyshev().ang_cutoff = 3;
  absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  EXPECT_TRUE(data->CacheNeighbors(false, "", int64_t{1} << 30, 1).ok());
  return *data;
}

AtomicData Mixed(bool energies = true) {
  const std::string path = ::testing::TempDir() + (energies ? "/mixed.extxyz" : "/forces.extxyz");
  WriteMixedLabels(kAll, path, energies);
  return Read(path);
}

// Scales that do not depend on which energies are known.
AtomisticTaskOptions FixedScales() {
  AtomisticTaskOptions options;
  options.hidden = {7, 5};
  options.precision = DType::kF64;
  options.loss.energy_weight = 0.7;
  options.loss.force_weight = 0.3;
  options.atomic_energies = {{22, -5}, {8, -6}};
  options.scale_energies = false;
  return options;
}

std::vector<int64_t> Range(int64_t n) {
  std::vector<int64_t> range(n);
  std::iota(range.begin(), range.end(), 0);
  return range;
}

std::unique_ptr<ForceTask> Make(const AtomicData& data, const AtomisticTaskOptions& options) {
  absl::StatusOr<std::unique_ptr<ForceTask>> task = ForceTask::Create(data, options, Range(data.num_structures()));
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

struct Outcome {
  TermSums sums;
  std::vector<std::vector<double>> gradients;  // of each term
};

Outcome StepOf(ForceTask& task, const std::vector<int64_t>& examples) {
  const int num_terms = static_cast<int>(task.terms().size());
  Outcome outcome{TermSums(num_terms), {}};
  std::vector<Tensor> gradients;
  for (int t = 0; t < num_terms; ++t) {
    gradients.push_back(Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()}));
  }
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
  EXPECT_TRUE(
      task.AccumulateGradients(task.InitialParameters(5), batch, absl::MakeSpan(gradients), &outcome.sums).ok());
  for (const Tensor& gradient : gradients) outcome.gradients.push_back(gradient.ToDoubles());
  return outcome;
}

TEST(MissingEnergiesTest, GradientsAgreeWithAutogradAndFiniteDifferences) {
  const AtomicData data = Mixed();
  for (const LossKind kind : {LossKind::kRmse, LossKind::kMse, LossKind::kHuber}) {
    for (const DType precision : {DType::kF64, DType::kF32}) {
      AtomisticTaskOptions options;
      options.hidden = {7, 5};
      options.precision = precision;
      options.loss.kind = kind;
      options.loss.energy_weight = 0.7;
      options.loss.force_weight = 0.3;
      options.loss.stress_weight = 1;
      const std::unique_ptr<ForceTask> task = Make(data, options);
      NamedTensors batch;
      for (const std::vector<int64_t>& examples : {kExamples, {1, 4}, {2, 3}}) {
        ASSERT_TRUE(task->MakeBatch(examples, &batch).ok());
        const absl::Status status = CheckGradients(*task, task->InitialParameters(5), batch);
        EXPECT_TRUE(status.ok()) << status;
      }
    }
  }
}

// The terms are those of all labels over the structures that have the term's.
TEST(MissingEnergiesTest, EachTermIsThatOfTheStructuresThatHaveIt) {
  const AtomicData mixed = Mixed(), whole = Read(kAll);
  const std::unique_ptr<ForceTask> task = Make(mixed, FixedScales()), reference = Make(whole, FixedScales());
  std::vector<int64_t> with_energy, with_forces;
  for (const int64_t s : kExamples) {
    ASSERT_EQ(mixed.has_energy(s), MixedHasEnergy(s));
    ASSERT_EQ(!mixed.force(s).empty(), MixedHasForces(s));
    if (MixedHasEnergy(s)) with_energy.push_back(s);
    if (MixedHasForces(s)) with_forces.push_back(s);
  }
  ASSERT_LT(with_energy.size(), kExamples.size());
  ASSERT_LT(with_forces.size(), kExamples.size());
  const Outcome found = StepOf(*task, kExamples);
  const Outcome terms[] = {StepOf(*reference, with_energy), StepOf(*reference, with_forces)};
  EXPECT_EQ(found.sums.count[0], static_cast<double>(with_energy.size()));
  for (int t = 0; t < 2; ++t) {
    const TermSums& sums = terms[t].sums;
    EXPECT_EQ(found.sums.count[t], sums.count[t]);
    EXPECT_NEAR(found.sums.sum[t], sums.sum[t], 1e-12 * sums.sum[t]);
    double largest = 0;
    for (const double g : terms[t].gradients[t]) largest = std::max(largest, std::abs(g));
    for (size_t i = 0; i < found.gradients[t].size(); ++i) {
      // The order of additions differs.
      EXPECT_NEAR(found.gradients[t][i], terms[t].gradients[t][i], 1e-12 * largest);
    }
  }
  // rmse: 0.7 sqrt(mean of energies' squares) + 0.3 sqrt(mean of forces' squares).
  EXPECT_NEAR(task->CombineTerms(found.sums).value,
              0.7 * std::sqrt(terms[0].sums.sum[0] / terms[0].sums.count[0]) +
                  0.3 * std::sqrt(terms[1].sums.sum[1] / terms[1].sums.count[1]),
              1e-9);
}

TEST(MissingEnergiesTest, MetricsAreOverThoseThatHaveTheLabel) {
  const AtomicData mixed = Mixed();
  const std::unique_ptr<ForceTask> task = Make(mixed, FixedScales());
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch(kExamples, &batch).ok());
  TermSums sums(2);
  std::vector<double> metrics(9, 0.0);
  ASSERT_TRUE(task->Evaluate(task->InitialParameters(5), batch, &sums, absl::MakeSpan(metrics)).ok());
  EXPECT_EQ(metrics[2], sums.count[0]);
  EXPECT_NEAR(metrics[0], sums.sum[0], 1e-12 * sums.sum[0]);
  EXPECT_TRUE(std::isfinite(metrics[1]));
  EXPECT_EQ(metrics[5], sums.count[1]);
}

TEST(MissingEnergiesTest, AtomicEnergiesAndScalesAreFittedToThoseThatAreKnown) {
  const AtomicData mixed = Mixed(), whole = Read(kAll);
  AtomisticTaskOptions options = FixedScales();
  options.atomic_energies.clear();
  options.scale_energies = true;
  std::vector<int64_t> known;
  for (int64_t s = 0; s < whole.num_structures(); ++s) {
    if (MixedHasEnergy(s)) known.push_back(s);
  }
  const std::unique_ptr<ForceTask> task = Make(mixed, options);
  const absl::StatusOr<std::unique_ptr<ForceTask>> reference = ForceTask::Create(whole, options, known);
  ASSERT_TRUE(reference.ok()) << reference.status();
  EXPECT_EQ(task->model().atomic_energies(), (*reference)->model().atomic_energies());
  EXPECT_EQ(task->model().energy_scaling().scale, (*reference)->model().energy_scaling().scale);
  EXPECT_EQ(task->model().energy_scaling().shift, (*reference)->model().energy_scaling().shift);
}

TEST(MissingEnergiesTest, ForcesAloneHaveNoZeroOfEnergy) {
  const AtomicData data = Mixed(/*energies=*/false);
  AtomisticTaskOptions options = FixedScales();
  options.atomic_energies.clear();
  options.scale_energies = true;
  const std::unique_ptr<ForceTask> task = Make(data, options);
  EXPECT_THAT(task->model().atomic_energies(), Each(0.0));
  EXPECT_FALSE(task->model().atomic_energies_fitted());
  EXPECT_EQ(task->model().energy_scaling().scale, 1);
  const Outcome found = StepOf(*task, kExamples);
  EXPECT_EQ(found.sums.count[0], 0);
  EXPECT_EQ(found.sums.sum[0], 0);
  EXPECT_THAT(found.gradients[0], Each(0.0));
  EXPECT_GT(found.sums.sum[1], 0);
  const Loss loss = task->CombineTerms(found.sums);
  EXPECT_NEAR(loss.value, 0.3 * std::sqrt(found.sums.sum[1] / found.sums.count[1]), 1e-12);
}

TEST(MissingEnergiesTest, SamplingByErrorsAndEnergiesTakesTheMean) {
  const AtomicData data = Mixed();
  const std::unique_ptr<ForceTask> task = Make(data, FixedScales());
  ASSERT_NE(task->sampling(), nullptr);
  EXPECT_THAT(task->sampling()->SamplingWeights(SamplingPolicy::kErrorWeighted, {0, 1}), Each(1.0));
  StepOf(*task, kExamples);
  const std::vector<double> weights = task->sampling()->SamplingWeights(SamplingPolicy::kErrorWeighted, kExamples);
  double sum = 0, known = 0;
  for (size_t i = 0; i < kExamples.size(); ++i) {
    ASSERT_TRUE(std::isfinite(weights[i])) << kExamples[i];
    if (!MixedHasEnergy(kExamples[i])) {
      EXPECT_EQ(weights[i], 1) << kExamples[i];
      continue;
    }
    sum += weights[i];
    known += 1;
  }
  EXPECT_NEAR(sum / known, 1, 1e-12);
}

}  // namespace
}  // namespace rutile
