// A task whose steps a device does, from batches that name structures only: here the device is the host, by the kernels
// of GPUs, and a GPU as well where there is one. Whatever is asked of the task, it answers as one whose steps are done
// by the kernels of processors.

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/potential/gpu/force_step_testing.h"
#include "lib/potential/training/force_task.h"
#include "lib/potential/training/tests/mixed_labels_testing.h"
#include "lib/testing/error_names.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;

const std::vector<int64_t> kExamples = {0, 1, 2, 3, 4, 6, 7, 10, 402, 3};
// Where the order of additions differs.
constexpr double kRounding = 1e-9;

// Structures some of which lack an energy, forces or a stress.
AtomicData Mixed(bool cache_neighbors = true) {
  const std::string path = ::testing::TempDir() + "/mixed.extxyz";
  WriteMixedLabels("data/tio2-pbe/tio2-pbe.extxyz", path);
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_order = 4;
  options.descriptor->chebyshev().rad_cutoff = 4;
  options.descriptor->chebyshev().ang_order = 2;
  options.descriptor->chebyshev().ang_cutoff = 3;
  absl::StatusOr<AtomicData> data = AtomicData::Read({path}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  if (cache_neighbors) {
    EXPECT_TRUE(data->CacheNeighbors(false, "", int64_t{1} << 30, 1).ok());
  }
  return *data;
}

AtomisticTaskOptions Options() {
  AtomisticTaskOptions options;
  options.hidden = {7, 5};
  options.precision = DType::kF64;
  options.loss.energy_weight = 0.7;
  options.loss.force_weight = 0.3;
  options.loss.stress_weight = 1;
  return options;
}

AtomisticTaskOptions Sampling(double fraction, ForceSampleUnit unit, bool unbiased = false) {
  AtomisticTaskOptions options = Options();
  options.force_sampling.fraction = fraction;
  options.force_sampling.unit = unit;
  options.loss.force_scale_unbiased = unbiased;
  return options;
}

std::vector<AtomisticTaskOptions> AllOptions() {
  AtomisticTaskOptions without_stress = Sampling(0.3, ForceSampleUnit::kStructure);
  without_stress.loss.stress_weight = 0;
  AtomisticTaskOptions huber = Sampling(0.3, ForceSampleUnit::kAtom);
  huber.loss.kind = LossKind::kHuber;
  return {Options(), Sampling(0.3, ForceSampleUnit::kStructure, true), Sampling(0.3, ForceSampleUnit::kAtom, true),
          without_stress, huber};
}

ForceStepMakers HostSteps() {
  ForceStepMakers steps;
  steps.f32 = [](const StepModel& model, int /*device*/, std::string* /*error*/) {
    return MakeHostForceStep<float>(model);
  };
  steps.f64 = [](const StepModel& model, int /*device*/, std::string* /*error*/) {
    return MakeHostForceStep<double>(model);
  };
  return steps;
}

absl::StatusOr<std::unique_ptr<ForceTask>> Create(const AtomicData& data, AtomisticTaskOptions options,
                                                  const ForceStepMakers& steps) {
  options.gpu = 0;
  std::vector<int64_t> train(data.num_structures());
  std::iota(train.begin(), train.end(), 0);
  return ForceTask::Create(data, options, train, steps);
}

// The devices that there are.
std::vector<ForceStepMakers> AllSteps() {
  std::vector<ForceStepMakers> steps = {HostSteps()};
  if (NumCudaGpus() > 0) steps.emplace_back();
  return steps;
}

std::unique_ptr<ForceTask> OnDevice(const AtomicData& data, const AtomisticTaskOptions& options,
                                    const ForceStepMakers& steps = HostSteps()) {
  absl::StatusOr<std::unique_ptr<ForceTask>> task = Create(data, options, steps);
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

std::unique_ptr<ForceTask> OnProcessors(const AtomicData& data, const AtomisticTaskOptions& options) {
  std::vector<int64_t> train(data.num_structures());
  std::iota(train.begin(), train.end(), 0);
  absl::StatusOr<std::unique_ptr<ForceTask>> task = ForceTask::Create(data, options, train);
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

NamedTensors BatchOf(const ForceTask& task, const std::vector<int64_t>& examples) {
  NamedTensors batch;
  EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
  return batch;
}

std::vector<std::string> NamesOf(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

void ExpectSame(const NamedTensors& found, const NamedTensors& expected) {
  ASSERT_EQ(NamesOf(found), NamesOf(expected));
  for (const auto& [name, tensor] : expected) {
    const Tensor& other = found.At(name);
    ASSERT_EQ(other.dtype(), tensor.dtype()) << name;
    ASSERT_EQ(other.num_bytes(), tensor.num_bytes()) << name;
    EXPECT_EQ(std::memcmp(other.data(), tensor.data(), tensor.num_bytes()), 0) << name;
  }
}

TEST(DeviceForceTaskTest, BatchesNameStructuresAndAreCompletedForThoseWithoutTheData) {
  for (const bool cache_neighbors : {true, false}) {
    const AtomicData data = Mixed(cache_neighbors);
    for (const AtomisticTaskOptions& options : AllOptions()) {
      const std::unique_ptr<ForceTask> device = OnDevice(data, options), host = OnProcessors(data, options);
      for (const int epoch : {0, 1, -1}) {
        for (ForceTask* task : {device.get(), host.get()}) task->StartEpoch(std::max(epoch, 0), epoch >= 0);
        const NamedTensors batch = BatchOf(*device, kExamples), expected = BatchOf(*host, kExamples);
        if (options.force_sampling.unit == ForceSampleUnit::kAtom) {
          EXPECT_THAT(NamesOf(batch), ElementsAre("example", "num_sampled", "sampled_share", "force_sampled"));
        } else {
          EXPECT_THAT(NamesOf(batch), ElementsAre("example", "num_sampled", "sampled_share"));
        }
        EXPECT_EQ(expected.Has("pair_j"), !cache_neighbors);
        ExpectSame(device->CompleteBatch(batch).value(), expected);
        ExpectSame(host->CompleteBatch(expected).value(), expected);
        EXPECT_EQ(device->ExampleCounts(device->CompleteBatch(batch).value()), host->ExampleCounts(expected));
        // The sample is that of the epoch that the batch is of.
        device->StartEpoch(5, /*training=*/true);
        ExpectSame(device->CompleteBatch(batch).value(), expected);
      }
    }
  }
}

struct Outcome {
  TermSums sums;
  std::vector<std::vector<double>> gradients;  // of each term
  std::vector<double> metrics;
};

Outcome StepOf(ForceTask* task, const NamedTensors& batch) {
  const int num_terms = static_cast<int>(task->terms().size());
  Outcome outcome{TermSums(num_terms), {}, std::vector<double>(9)};
  std::vector<Tensor> gradients;
  for (int t = 0; t < num_terms; ++t) {
    gradients.push_back(Tensor::Zeros(task->parameter_dtype(), {task->num_parameters()}));
  }
  const Tensor parameters = task->InitialParameters(5);
  EXPECT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &outcome.sums).ok());
  for (const Tensor& gradient : gradients) outcome.gradients.push_back(gradient.ToDoubles());
  TermSums again(num_terms);
  EXPECT_TRUE(task->Evaluate(parameters, batch, &again, absl::MakeSpan(outcome.metrics)).ok());
  EXPECT_EQ(again.sum, outcome.sums.sum);
  EXPECT_EQ(again.count, outcome.sums.count);
  return outcome;
}

void ExpectNear(const Outcome& found, const Outcome& expected) {
  const auto near = [](double a, double b) { EXPECT_NEAR(a, b, kRounding * std::max(1.0, std::abs(b))); };
  for (size_t t = 0; t < expected.gradients.size(); ++t) {
    near(found.sums.sum[t], expected.sums.sum[t]);
    EXPECT_EQ(found.sums.count[t], expected.sums.count[t]);
    double largest = 0;
    for (const double g : expected.gradients[t]) largest = std::max(largest, std::abs(g));
    for (size_t i = 0; i < expected.gradients[t].size(); ++i) {
      ASSERT_NEAR(found.gradients[t][i], expected.gradients[t][i], kRounding * largest) << t << ", " << i;
    }
  }
  for (size_t i = 0; i < expected.metrics.size(); ++i) near(found.metrics[i], expected.metrics[i]);
}

TEST(DeviceForceTaskTest, StepsAreThoseOfProcessors) {
  const AtomicData data = Mixed();
  for (const ForceStepMakers& steps : AllSteps()) {
    for (const AtomisticTaskOptions& options : AllOptions()) {
      const std::unique_ptr<ForceTask> device = OnDevice(data, options, steps), host = OnProcessors(data, options);
      NamedTensors batch;  // the memory of the batch before
      for (const int epoch : {0, 1, -1}) {
        for (ForceTask* task : {device.get(), host.get()}) task->StartEpoch(std::max(epoch, 0), epoch >= 0);
        for (const std::vector<int64_t>& examples : {std::vector<int64_t>{7}, kExamples, {1, 4}, {2, 3}}) {
          ASSERT_TRUE(device->MakeBatch(examples, &batch).ok());
          ExpectNear(StepOf(device.get(), batch), StepOf(host.get(), BatchOf(*host, examples)));
        }
      }
    }
  }
}

// What `train` does with the first batch of a run.
TEST(DeviceForceTaskTest, AgreesWithTheDefinition) {
  for (const bool cache_neighbors : {true, false}) {
    const AtomicData data = Mixed(cache_neighbors);
    for (AtomisticTaskOptions options : AllOptions()) {
      for (const DType precision : {DType::kF64, DType::kF32}) {
        options.precision = precision;
        const std::unique_ptr<ForceTask> task = OnDevice(data, options);
        task->StartEpoch(1, /*training=*/true);
        const absl::Status status = CheckGradients(*task, task->InitialParameters(5), BatchOf(*task, kExamples));
        EXPECT_TRUE(status.ok()) << status;
      }
    }
  }
}

TEST(DeviceForceTaskTest, SamplingByErrorsKnowsTheLastOnes) {
  const AtomicData data = Mixed();
  const std::unique_ptr<ForceTask> device = OnDevice(data, Options()), host = OnProcessors(data, Options());
  std::vector<double> weights[2];
  for (int k = 0; k < 2; ++k) {
    ForceTask* const task = k == 0 ? device.get() : host.get();
    task->sampling()->SamplingWeights(SamplingPolicy::kErrorWeighted, kExamples);  // errors are kept from here on
    StepOf(task, BatchOf(*task, {0, 3, 5, 1}));
    weights[k] = task->sampling()->SamplingWeights(SamplingPolicy::kErrorWeighted, kExamples);
  }
  ASSERT_EQ(weights[0].size(), kExamples.size());
  for (size_t i = 0; i < kExamples.size(); ++i) EXPECT_NEAR(weights[0][i], weights[1][i], 1e-7) << i;
}

// A device that fails where it is told to.
class FailingStep : public ForceStep<double> {
 public:
  explicit FailingStep(bool loads) : loads_(loads) {}
  std::string Load(const std::vector<StepStructure>& /*structures*/) override { return loads_ ? "" : "it is full"; }
  void SetFrozen(const std::vector<bool>& /*species*/) override {}
  std::string Run(const double* /*parameters*/, const StepBatch& /*batch*/, double* /*gradients*/,
                  StepResult* /*results*/) override {
    return "it is hot";
  }
  int64_t bytes() const override { return 0; }

 private:
  const bool loads_;
};

TEST(DeviceForceTaskTest, SaysWhatFailed) {
  const AtomicData data = Mixed();
  ForceStepMakers steps;
  steps.f64 = [](const StepModel& /*model*/, int /*device*/, std::string* error) {
    *error = "it is not there";
    return nullptr;
  };
  EXPECT_THAT(Create(data, Options(), steps).status(),
              ErrorNames(absl::StatusCode::kInvalidArgument, {"cuda:0", "it is not there"}));
  bool loads = false;
  steps.f64 = [&loads](const StepModel& /*model*/, int /*device*/, std::string* /*error*/) {
    return std::make_unique<FailingStep>(loads);
  };
  EXPECT_THAT(Create(data, Options(), steps).status(),
              ErrorNames(absl::StatusCode::kResourceExhausted, {"GPU", "it is full"}));
  loads = true;
  const absl::StatusOr<std::unique_ptr<ForceTask>> task = Create(data, Options(), steps);
  ASSERT_TRUE(task.ok()) << task.status();
  TermSums sums(3);
  std::vector<double> metrics(9);
  EXPECT_THAT((*task)->Evaluate((*task)->InitialParameters(1), BatchOf(**task, {1}), &sums, absl::MakeSpan(metrics)),
              ErrorNames(absl::StatusCode::kInternal, {"GPU", "it is hot"}));
}

}  // namespace
}  // namespace rutile
