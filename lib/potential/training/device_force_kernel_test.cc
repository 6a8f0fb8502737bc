// Compares the kernels of GPUs with those of processors: on the host in any case, and on a GPU where there is one.

#include "lib/potential/training/device_force_kernel.h"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lib/potential/gpu/force_step_testing.h"
#include "lib/potential/model/labels/learned_labels.h"
#include "lib/potential/training/force_task.h"
#include "lib/potential/training/tests/mixed_labels_testing.h"

namespace rutile {
namespace {

AtomicData Tio2(std::vector<AngularSet> nearer, bool cache_neighbors = true,
                const std::string& path = "data/tio2-pbe/tio2-pbe.extxyz") {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_order = 5;
  options.descriptor->chebyshev().rad_cutoff = 4;
  options.descriptor->chebyshev().ang_order = 3;
  options.descriptor->chebyshev().ang_cutoff = 3.5;
  options.descriptor->chebyshev().nearer = std::move(nearer);
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
  options.loss.energy_weight = 0.7;
  options.loss.force_weight = 0.3;
  return options;
}

struct Outcome {
  TermSums sums;
  BatchErrors errors;
  std::vector<double> energy_errors;
  std::vector<std::vector<double>> gradients;  // of each term
};

void ExpectNear(const Outcome& a, const Outcome& b, double tolerance) {
  const auto near = [&](double x, double y, const char* what) {
    EXPECT_NEAR(x, y, tolerance * std::max(1.0, std::abs(y))) << what;
  };
  ASSERT_EQ(a.sums.sum.size(), b.sums.sum.size());
  for (size_t t = 0; t < a.sums.sum.size(); ++t) {
    near(a.sums.sum[t], b.sums.sum[t], "sum");
    near(a.sums.count[t], b.sums.count[t], "count");
  }
  const auto errors_near = [&](const ErrorSums& x, const ErrorSums& y) {
    near(x.square, y.square, "squares");
    near(x.absolute, y.absolute, "absolute values");
    EXPECT_EQ(x.count, y.count);
  };
  errors_near(a.errors.energy, b.errors.energy);
  errors_near(a.errors.force, b.errors.force);
  errors_near(a.errors.stress, b.errors.stress);
  for (size_t s = 0; s < b.energy_errors.size(); ++s) {
    if (std::isnan(b.energy_errors[s])) {
      EXPECT_TRUE(std::isnan(a.energy_errors[s])) << s;
    } else {
      near(a.energy_errors[s], b.energy_errors[s], "energy");
    }
  }
  for (size_t t = 0; t < b.gradients.size(); ++t) {
    double largest = 0;
    for (const double g : b.gradients[t]) largest = std::max(largest, std::abs(g));
    for (size_t i = 0; i < b.gradients[t].size(); ++i) {
      EXPECT_NEAR(a.gradients[t][i], b.gradients[t][i], tolerance * largest) << "term " << t << ", parameter " << i;
    }
  }
}

template <typename T>
Outcome RunDevice(const AtomicData& data, const ForceTask& task, const AtomisticTaskOptions& options,
                  const NamedTensors& batch, const Tensor& parameters, const std::vector<bool>& frozen,
                  std::unique_ptr<ForceStep<T>> step) {
  auto kernel = DeviceForceKernel<T>::Create(data, task.model(), options.loss, std::move(step));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  (*kernel)->SetFrozen(frozen);
  const int num_terms = static_cast<int>(task.terms().size());
  Outcome outcome{TermSums(num_terms), {}, {}, {}};
  // Twice: what a call leaves behind must not reach the next.
  for (int repeat = 0; repeat < 2; ++repeat) {
    outcome = Outcome{TermSums(num_terms), {}, {}, {}};
    std::vector<Tensor> gradients;
    for (int t = 0; t < num_terms; ++t) {
      gradients.push_back(Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()}));
    }
    const DeviceForceBatch view(batch);
    absl::Status status =
        (*kernel)->Run(parameters.values<T>(), view, absl::MakeSpan(gradients), &outcome.sums, &outcome.errors);
    EXPECT_TRUE(status.ok()) << status;
    for (const Tensor& gradient : gradients) outcome.gradients.push_back(gradient.ToDoubles());
    outcome.energy_errors.assign((*kernel)->energy_errors().begin(), (*kernel)->energy_errors().end());
    // Without gradients the errors have the same bits.
    TermSums sums(num_terms);
    status = (*kernel)->Run(parameters.values<T>(), view, {}, &sums, nullptr);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(sums.sum, outcome.sums.sum);
  }
  return outcome;
}

// Compares all kernels on a batch of these structures.
template <typename T>
void Compare(const AtomicData& data, AtomisticTaskOptions options, const std::vector<int64_t>& examples,
             double tolerance, const std::vector<bool>& frozen = {}) {
  options.precision = std::is_same_v<T, float> ? DType::kF32 : DType::kF64;
  std::vector<int64_t> all(data.num_structures());
  std::iota(all.begin(), all.end(), 0);
  absl::StatusOr<std::unique_ptr<ForceTask>> task = ForceTask::Create(data, options, all);
  ASSERT_TRUE(task.ok()) << task.status();
  (*task)->StartEpoch(1, /*training=*/true);
  const Tensor parameters = (*task)->InitialParameters(3);
  NamedTensors batch;
  ASSERT_TRUE((*task)->MakeBatch(examples, &batch).ok());

  const int num_terms = static_cast<int>((*task)->terms().size());
  ForceKernel<T> kernel((*task)->model(), options.loss, AngularMethod::kMoments, nullptr);
  kernel.SetFrozen(frozen);
  Outcome expected{TermSums(num_terms), {}, {}, {}};
  std::vector<Tensor> gradients;
  for (int t = 0; t < num_terms; ++t) {
    gradients.push_back(Tensor::Zeros(options.precision, {(*task)->num_parameters()}));
  }
  kernel.Run(parameters.values<T>(), ForceBatch<T>(batch, data), absl::MakeSpan(gradients), &expected.sums,
             &expected.errors);
  for (const Tensor& gradient : gradients) expected.gradients.push_back(gradient.ToDoubles());
  expected.energy_errors.assign(kernel.energy_errors().begin(), kernel.energy_errors().end());

  const StepModel model = MakeStepModel((*task)->model(), options.loss);
  {
    SCOPED_TRACE("host");
    ExpectNear(RunDevice<T>(data, **task, options, batch, parameters, frozen, MakeHostForceStep<T>(model)), expected,
               tolerance);
  }
  if (NumCudaGpus() == 0) return;
  SCOPED_TRACE("GPU");
  std::string error;
  std::unique_ptr<ForceStep<T>> step = MakeCudaForceStep<T>(model, 0, &error);
  ASSERT_NE(step, nullptr) << error;
  const Outcome first = RunDevice<T>(data, **task, options, batch, parameters, frozen, std::move(step));
  ExpectNear(first, expected, tolerance);
  step = MakeCudaForceStep<T>(model, 0, &error);
  const Outcome second = RunDevice<T>(data, **task, options, batch, parameters, frozen, std::move(step));
  EXPECT_EQ(first.gradients, second.gradients) << "a GPU gives the same bits each time";
}

constexpr double kTolerance64 = 1e-9, kTolerance32 = 3e-3;

const std::vector<int64_t> kExamples = {3, 17, 402, 0, 77, 230, 231, 5};

TEST(DeviceForceKernelTest, LearnsForces) {
  const AtomicData data = Tio2({});
  Compare<double>(data, Options(), kExamples, kTolerance64);
  Compare<float>(data, Options(), kExamples, kTolerance32);
}

TEST(DeviceForceKernelTest, LearnsStressesWithSeveralAngularSets) {
  const AtomicData data = Tio2({{5, 2.5}, {2, 2.2}});
  AtomisticTaskOptions options = Options();
  options.loss.stress_weight = 0.4;
  Compare<double>(data, options, kExamples, kTolerance64);
  Compare<float>(data, options, kExamples, kTolerance32);
  options.loss.force_weight = 0;
  Compare<double>(data, options, kExamples, kTolerance64);
}

// Labels that a data set has in place of those of its files.
TEST(DeviceForceKernelTest, LearnsWhatARepulsionLeaves) {
  AtomisticTaskOptions options = Options();
  options.loss.stress_weight = 0.4;
  const absl::StatusOr<AtomicData> data = LearnedLabels(Tio2({}), {{1, 1, 1, 1}, {2.5, 2.5, 2.5, 2.5}}, 1);
  ASSERT_TRUE(data.ok()) << data.status();
  Compare<double>(*data, options, kExamples, kTolerance64);
}

TEST(DeviceForceKernelTest, LearnsForcesOfStructuresWithoutAnEnergy) {
  const std::string path = ::testing::TempDir() + "/mixed.extxyz";
  WriteMixedLabels("data/tio2-pbe/tio2-pbe.extxyz", path);
  AtomisticTaskOptions options = Options();
  options.loss.stress_weight = 1;
  Compare<double>(Tio2({}, true, path), options, {0, 1, 2, 3, 4, 6, 7, 10, 402}, kTolerance64);
  Compare<float>(Tio2({}, true, path), options, {1, 4}, kTolerance32);
}

TEST(DeviceForceKernelTest, LearnsEnergiesAlone) {
  const AtomicData data = Tio2({});
  AtomisticTaskOptions options = Options();
  options.loss.force_weight = 0;
  Compare<double>(data, options, kExamples, kTolerance64);
  Compare<float>(data, options, kExamples, kTolerance32);
}

TEST(DeviceForceKernelTest, KnowsAllLosses) {
  const AtomicData data = Tio2({});
  for (const LossKind kind : {LossKind::kMse, LossKind::kRmse, LossKind::kHuber}) {
    AtomisticTaskOptions options = Options();
    options.loss.kind = kind;
    options.loss.stress_weight = 0.2;
    options.loss.energy_delta = 0.3;  // errors fall on both sides of these
    options.loss.force_delta = 0.5;
    options.loss.stress_delta = 0.01;
    Compare<double>(data, options, kExamples, kTolerance64);
  }
}

TEST(DeviceForceKernelTest, KnowsAllNetworks) {
  const AtomicData data = Tio2({});
  for (const Activation activation : {Activation::kLinear, Activation::kTanh, Activation::kSigmoid, Activation::kMtanh,
                                      Activation::kTwist, Activation::kSilu}) {
    AtomisticTaskOptions options = Options();
    options.activation = activation;
    Compare<double>(data, options, kExamples, kTolerance64);
  }
  for (const std::vector<int>& hidden : {std::vector<int>{}, {1}, {32, 32}, {33, 17, 5}, {200, 150}}) {
    AtomisticTaskOptions options = Options();
    options.hidden = hidden;
    Compare<double>(data, options, kExamples, kTolerance64);
  }
}

TEST(DeviceForceKernelTest, SamplesForces) {
  const AtomicData data = Tio2({});
  for (const ForceSampleUnit unit : {ForceSampleUnit::kStructure, ForceSampleUnit::kAtom}) {
    AtomisticTaskOptions options = Options();
    options.force_sampling.fraction = 0.3;
    options.force_sampling.unit = unit;
    Compare<double>(data, options, kExamples, kTolerance64);
    options.loss.force_scale_unbiased = true;
    Compare<double>(data, options, kExamples, kTolerance64);
  }
}

TEST(DeviceForceKernelTest, LeavesFrozenNetworksAlone) {
  Compare<double>(Tio2({}), Options(), kExamples, kTolerance64, {true, false});
}

TEST(DeviceForceKernelTest, FindsNeighborsWhereNoneAreKept) {
  Compare<double>(Tio2({}, /*cache_neighbors=*/false), Options(), kExamples, kTolerance64);
}

TEST(DeviceForceKernelTest, TakesAStructureTwice) { Compare<double>(Tio2({}), Options(), {4, 9, 4}, kTolerance64); }

}  // namespace
}  // namespace rutile
