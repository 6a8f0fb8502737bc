#include "lib/potential/training/force_task.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/file/file.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/training/atomistic_task.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::vector<int64_t> Range(int64_t n) {
  std::vector<int64_t> range(n);
  std::iota(range.begin(), range.end(), 0);
  return range;
}

// Reads data/tio2-pbe: 403 structures with energies, forces and stress.
AtomicData Tio2(bool cache_neighbors = true) {
  AtomicDataOptions options;
  options.descriptor.emplace();
  options.descriptor->chebyshev().species = {22, 8};
  options.descriptor->chebyshev().rad_order = 4;
  options.descriptor->chebyshev().rad_cutoff = 4;
  options.descriptor->chebyshev().ang_order = 3;
  options.descriptor->chebyshev().ang_cutoff = 3;
  absl::StatusOr<AtomicData> data = AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  if (cache_neighbors) {
    EXPECT_TRUE(data->CacheNeighbors(false, "", int64_t{1} << 30, 1).ok());
  }
  return *data;
}

AtomisticTaskOptions Options(double force_weight, double stress_weight, DType precision = DType::kF64) {
  AtomisticTaskOptions options;
  options.hidden = {7, 5};
  options.precision = precision;
  options.loss.energy_weight = 1 - force_weight;
  options.loss.force_weight = force_weight;
  options.loss.stress_weight = stress_weight;
  return options;
}

std::unique_ptr<ForceTask> Make(const AtomicData& data, const AtomisticTaskOptions& options,
                                const std::vector<int64_t>& train) {
  absl::StatusOr<std::unique_ptr<ForceTask>> task = ForceTask::Create(data, options, train);
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

// The sums, and the gradient of each term in fp64.
struct Gradients {
  TermSums sums;
  std::vector<std::vector<double>> terms;
};

Gradients GradientsOf(Task& task, const Tensor& parameters, const std::vector<std::vector<int64_t>>& batches) {
  const int num_terms = static_cast<int>(task.terms().size());
  Gradients result{TermSums(num_terms), {}};
  std::vector<Tensor> gradients;
  for (int t = 0; t < num_terms; ++t) {
    gradients.push_back(Tensor::Zeros(task.parameter_dtype(), {task.num_parameters()}));
  }
  NamedTensors batch;
  for (const std::vector<int64_t>& examples : batches) {
    EXPECT_TRUE(task.MakeBatch(examples, &batch).ok());
    EXPECT_TRUE(task.AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &result.sums).ok());
  }
  for (const Tensor& gradient : gradients) result.terms.push_back(gradient.ToDoubles());
  return result;
}

void ExpectNear(const Gradients& a, const Gradients& b, double tolerance) {
  ASSERT_EQ(a.terms.size(), b.terms.size());
  for (size_t t = 0; t < a.terms.size(); ++t) {
    EXPECT_NEAR(a.sums.sum[t], b.sums.sum[t], tolerance * a.sums.sum[t]);
    EXPECT_NEAR(a.sums.count[t], b.sums.count[t], 1e-12);
    double largest = 0;
    for (const double x : a.terms[t]) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < a.terms[t].size(); ++i) {
      EXPECT_NEAR(a.terms[t][i], b.terms[t][i], tolerance * largest) << "term " << t << ", parameter " << i;
    }
  }
}

struct Case {
  LossKind loss;
  double force_weight, stress_weight;
  Activation activation;
  std::vector<int> hidden;
  DType precision;
};

class ForceTaskGradientTest : public ::testing::TestWithParam<Case> {};

TEST_P(ForceTaskGradientTest, AgreesWithAutogradAndFiniteDifferences) {
  AtomisticTaskOptions options = Options(GetParam().force_weight, GetParam().stress_weight, GetParam().precision);
  options.loss.kind = GetParam().loss;
  options.loss.energy_delta = 0.3;  // errors fall on both sides of it
  options.loss.force_delta = 1.0;
  options.loss.stress_delta = 0.05;
  options.activation = GetParam().activation;
  options.hidden = GetParam().hidden;
  const AtomicData data = Tio2();
  const std::unique_ptr<ForceTask> task = Make(data, options, Range(data.num_structures()));
  NamedTensors batch;
  for (const std::vector<int64_t>& examples : {std::vector<int64_t>{7}, {3, 200, 41, 402, 5}}) {
    ASSERT_TRUE(task->MakeBatch(examples, &batch).ok());
    const absl::Status status = CheckGradients(*task, task->InitialParameters(5), batch);
    EXPECT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ForceTaskGradientTest,
                         ::testing::Values(Case{LossKind::kRmse, 0.1, 0, Activation::kTanh, {7, 5}, DType::kF64},
                                           Case{LossKind::kRmse, 0.5, 2, Activation::kTanh, {16, 16}, DType::kF32},
                                           Case{LossKind::kMse, 1, 0, Activation::kSigmoid, {7, 5}, DType::kF64},
                                           Case{LossKind::kMse, 0, 10, Activation::kSilu, {5}, DType::kF64},
                                           Case{LossKind::kHuber, 0.3, 1, Activation::kMtanh, {9, 4, 3}, DType::kF64},
                                           Case{LossKind::kRmse, 0.3, 0, Activation::kTwist, {10}, DType::kF64},
                                           Case{LossKind::kMse, 0.2, 1, Activation::kLinear, {}, DType::kF64},
                                           Case{LossKind::kRmse, 0, 0, Activation::kTanh, {7}, DType::kF64}));

// Follows testdata/potential/training_trace.json: losses, gradients and weights of two short trainings, without and
// with forces.
TEST(ForceTaskTest, FollowsTheGoldenTrainings) {
  const GoldenTraining golden = ReadGoldenTraining();
  std::vector<std::string> files;
  for (const Structure& structure : golden.structures) files.push_back(structure.name);
  AtomicDataOptions data_options;
  data_options.descriptor = golden.descriptor;
  const absl::StatusOr<AtomicData> data = AtomicData::Read(files, data_options);
  ASSERT_TRUE(data.ok()) << data.status();
  for (const GoldenTraining::Run& run : golden.runs) {
    AtomisticTaskOptions options = Options(run.force_weight, 0);
    options.hidden = golden.initial_networks.hidden;
    for (size_t s = 0; s < golden.descriptor.species.size(); ++s) {
      options.atomic_energies[golden.descriptor.species[s]] = golden.atomic_energies[s];
    }
    const std::unique_ptr<ForceTask> task = Make(*data, options, Range(data->num_structures()));
    EXPECT_NEAR(task->model().energy_scaling().scale, golden.energy_scaling, 1e-10 * golden.energy_scaling);
    Tensor parameters = Tensor::Of(golden.initial_networks.parameters);
    const absl::Span<double> p = parameters.mutable_values<double>();
    std::vector<double> mean(p.size()), square(p.size());
    int64_t t = 0;
    for (const GoldenTraining::Step& step : run.steps) {
      const Gradients gradients = GradientsOf(*task, parameters, {step.batch});
      const Loss loss = task->CombineTerms(gradients.sums);
      EXPECT_NEAR(loss.value, step.loss, 1e-9);
      EXPECT_NEAR(std::sqrt(gradients.sums.sum[0] / gradients.sums.count[0]), step.energy_rmse, 1e-9);
      if (run.force_weight > 0) {
        EXPECT_NEAR(std::sqrt(gradients.sums.sum[1] / gradients.sums.count[1]), step.force_rmse, 1e-9);
      }
      std::vector<double> g(p.size());
      double norm = 0;
      for (size_t i = 0; i < g.size(); ++i) {
        for (size_t term = 0; term < gradients.terms.size(); ++term) {
          g[i] += loss.weight[term] * gradients.terms[term][i];
        }
        norm += g[i] * g[i];
      }
      EXPECT_NEAR(std::sqrt(norm), step.gradient_norm, 1e-9);
      ++t;  // Adam as in its paper
      for (size_t i = 0; i < p.size(); ++i) {
        mean[i] = golden.beta1 * mean[i] + (1 - golden.beta1) * g[i];
        square[i] = golden.beta2 * square[i] + (1 - golden.beta2) * g[i] * g[i];
        const double m = mean[i] / (1 - std::pow(golden.beta1, t)), v = square[i] / (1 - std::pow(golden.beta2, t));
        p[i] -= golden.learning_rate * m / (std::sqrt(v) + golden.epsilon);
      }
    }
    for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], run.final_networks.parameters[i], 1e-8);
  }
}

TEST(ForceTaskTest, BitsDoNotDependOnThreads) {
  const AtomicData data = Tio2();
  AtomisticTaskOptions options = Options(0.2, 1, DType::kF32);
  const std::unique_ptr<ForceTask> one = Make(data, options, Range(data.num_structures()));
  options.num_threads = 2;
  const std::unique_ptr<ForceTask> two = Make(data, options, Range(data.num_structures()));
  const Tensor parameters = one->InitialParameters(3);
  const Gradients a = GradientsOf(*one, parameters, {Range(data.num_structures())});
  const Gradients b = GradientsOf(*two, parameters, {Range(data.num_structures())});
  EXPECT_EQ(a.sums.sum, b.sums.sum);
  EXPECT_EQ(a.terms, b.terms);
}

// A network that is frozen as a whole has no gradient, a half-frozen one has all of it; sums do not depend on freezing.
TEST(ForceTaskTest, FrozenNetworksAreLeftOut) {
  const AtomicData data = Tio2();
  const std::unique_ptr<ForceTask> task = Make(data, Options(0.3, 0.1), Range(data.num_structures()));
  const Tensor parameters = task->InitialParameters(5);
  const size_t slices = task->parameter_slices().size();
  const int64_t half = task->num_parameters() / 2;  // two species
  const auto gradients = [&](const std::vector<bool>& frozen, TermSums* sums) {
    task->SetFrozen(frozen);
    std::vector<Tensor> found(task->terms().size());
    for (Tensor& each : found) each = Tensor::Zeros(DType::kF64, {task->num_parameters()});
    NamedTensors batch;
    *sums = TermSums(static_cast<int>(found.size()));
    EXPECT_TRUE(task->MakeBatch({3, 200, 41, 402, 5}, &batch).ok());
    EXPECT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(found), sums).ok());
    return found;
  };
  TermSums sums, all_sums;
  const std::vector<Tensor> all = gradients({}, &all_sums);
  std::vector<bool> first(slices), some(slices);
  std::fill_n(first.begin(), slices / 2, true);
  some[0] = some[slices - 1] = true;
  for (const std::vector<bool>& frozen : {first, some}) {
    const std::vector<Tensor> found = gradients(frozen, &sums);
    EXPECT_EQ(sums.sum, all_sums.sum);
    for (size_t t = 0; t < found.size(); ++t) {
      for (int64_t i = 0; i < 2 * half; ++i) {
        const double expected = frozen == first && i < half ? 0 : all[t].values<double>()[i];
        EXPECT_NEAR(found[t].values<double>()[i], expected, 1e-12 * (1 + std::abs(expected))) << t << " " << i;
      }
    }
  }
}

TEST(ForceTaskTest, PartsAddUp) {
  const AtomicData data = Tio2();
  const std::unique_ptr<ForceTask> task = Make(data, Options(0.2, 1), Range(data.num_structures()));
  const Tensor parameters = task->InitialParameters(3);
  ExpectNear(GradientsOf(*task, parameters, {{1, 2, 3, 4, 5}}), GradientsOf(*task, parameters, {{1, 2}, {3, 4, 5}}),
             1e-12);
}

// Results agree to rounding for every combination of cached inputs.
TEST(ForceTaskTest, CachesChangeNothing) {
  for (const ForceSampleUnit unit : {ForceSampleUnit::kStructure, ForceSampleUnit::kAtom}) {
    for (const double fraction : {1.0, 0.3}) {
      AtomisticTaskOptions options = Options(0.3, 0);
      options.force_sampling.fraction = fraction;
      options.force_sampling.unit = unit;
      const AtomicData plain = Tio2(/*cache_neighbors=*/false);
      const std::unique_ptr<ForceTask> expected = Make(plain, options, Range(200));
      const Tensor parameters = expected->InitialParameters(4);
      const std::vector<int64_t> examples = {1, 17, 60, 61, 130, 199};
      const Gradients gradients = GradientsOf(*expected, parameters, {examples});
      EXPECT_GT(gradients.sums.count[1], 0);
      for (const bool neighbors : {false, true}) {
        for (const bool triplets : {false, true}) {
          for (const bool features : {false, true}) {
            for (const AngularMethod angular : {AngularMethod::kMoments, AngularMethod::kTriplets}) {
              if (triplets && (!neighbors || angular == AngularMethod::kMoments)) continue;
              AtomicData data = Tio2(false);
              if (neighbors) {
                ASSERT_TRUE(data.CacheNeighbors(triplets, "", int64_t{1} << 30, 1).ok());
              }
              options.cached_features = features;
              options.angular = angular;
              const std::unique_ptr<ForceTask> task = Make(data, options, Range(200));
              SCOPED_TRACE(absl::StrCat("neighbors ", neighbors, " triplets ", triplets, " features ", features));
              ExpectNear(gradients, GradientsOf(*task, parameters, {examples}), 1e-9);
            }
          }
        }
      }
    }
  }
}

// With energies alone, the task agrees with AtomisticTask.
TEST(ForceTaskTest, WithoutForcesItIsTheEnergyTask) {
  const AtomicData data = Tio2();
  const AtomisticTaskOptions options = Options(0, 0);
  const std::unique_ptr<ForceTask> task = Make(data, options, Range(300));
  absl::StatusOr<std::unique_ptr<AtomisticTask>> energies = AtomisticTask::Create(data, options, Range(300));
  ASSERT_TRUE(energies.ok()) << energies.status();
  const Tensor parameters = task->InitialParameters(4);
  ExpectNear(GradientsOf(**energies, parameters, {Range(32)}), GradientsOf(*task, parameters, {Range(32)}), 1e-10);
}

// The geometry cache changes no bit, whether all structures fit, some or none, with one thread or two.
TEST(ForceTaskTest, KeptGeometryChangesNothing) {
  const AtomicData data = Tio2();
  for (const double fraction : {1.0, 0.3}) {
    for (const DType precision : {DType::kF32, DType::kF64}) {
      AtomisticTaskOptions options = Options(0.5, 1);
      options.precision = precision;
      options.force_sampling.fraction = fraction;
      const std::unique_ptr<ForceTask> plain = Make(data, options, Range(100));
      const Tensor parameters = plain->InitialParameters(4);
      for (const int64_t bytes : {1, 30000, 1 << 30}) {
        options.geometry_bytes = bytes;
        options.num_threads = bytes == 30000 ? 2 : 1;
        const std::unique_ptr<ForceTask> keeps = Make(data, options, Range(100));
        for (int epoch = 0; epoch < 4; ++epoch) {
          for (const auto& task : {plain.get(), keeps.get()}) task->StartEpoch(epoch, /*training=*/epoch != 2);
          // A batch may hold a structure twice, as in sampling with replacement.
          std::vector<int64_t> examples = Range(100);
          examples.push_back(7);
          const Gradients expected = GradientsOf(*plain, parameters, {examples});
          const Gradients found = GradientsOf(*keeps, parameters, {examples});
          EXPECT_EQ(found.sums.sum, expected.sums.sum);
          EXPECT_EQ(found.sums.count, expected.sums.count);
          ExpectNear(found, expected, 0);
        }
      }
    }
  }
}

// Where few atoms of structures with many neighbors are sampled, products run over those atoms alone.
TEST(ForceTaskTest, AtomsOfLongListsArePickedOut) {
  AtomicDataOptions data_options;
  data_options.descriptor.emplace();
  data_options.descriptor->chebyshev().species = {22, 8};
  data_options.descriptor->chebyshev().rad_order = 3;
  data_options.descriptor->chebyshev().rad_cutoff = 7;
  data_options.descriptor->chebyshev().ang_order = 2;
  data_options.descriptor->chebyshev().ang_cutoff = 3;
  const absl::StatusOr<AtomicData> data = AtomicData::Read({"data/tio2-pbe/tio2-pbe.extxyz"}, data_options);
  ASSERT_TRUE(data.ok()) << data.status();
  AtomisticTaskOptions options = Options(0.5, 0);
  options.force_sampling.fraction = 0.08;
  options.force_sampling.unit = ForceSampleUnit::kAtom;
  const std::unique_ptr<ForceTask> task = Make(*data, options, Range(data->num_structures()));
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch({100, 200, 300, 400, 50, 60}, &batch).ok());
  double sampled = 0;
  for (const int64_t n : batch.At("num_sampled").values<int64_t>()) sampled += static_cast<double>(n);
  EXPECT_GT(sampled, 0);
  const absl::Status status = CheckGradients(*task, task->InitialParameters(5), batch);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ForceTaskTest, EvaluatesWhatItTrainsOn) {
  const AtomicData data = Tio2();
  const std::unique_ptr<ForceTask> task = Make(data, Options(0.5, 1), Range(10));
  const Tensor parameters = task->InitialParameters(4);
  const Gradients gradients = GradientsOf(*task, parameters, {Range(40)});
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch(Range(40), &batch).ok());
  TermSums sums(3);
  std::vector<double> metric_sums(task->num_metric_sums());
  ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
  EXPECT_EQ(sums.count, gradients.sums.count);
  for (int t = 0; t < 3; ++t) EXPECT_NEAR(sums.sum[t], gradients.sums.sum[t], 1e-12 * sums.sum[t]);
  const std::vector<Metric> metrics = task->Metrics(metric_sums);
  ASSERT_EQ(metrics.size(), 5);
  EXPECT_NEAR(metrics[0].value, 1000 * std::sqrt(sums.sum[0] / 40), 1e-9);
  EXPECT_NEAR(metrics[2].value, std::sqrt(sums.sum[1] / sums.count[1]), 1e-12);
  EXPECT_EQ(metrics[2].unit, "eV/Å");
  EXPECT_NEAR(metrics[4].value, std::sqrt(sums.sum[2] / sums.count[2]), 1e-12);
}

TEST(ForceTaskTest, ResamplesForcesByEpochAndEvaluatesAll) {
  const AtomicData data = Tio2();
  AtomisticTaskOptions options = Options(0.5, 0);
  options.force_sampling.fraction = 0.25;
  options.force_sampling.resample_epochs = 2;
  const std::unique_ptr<ForceTask> task = Make(data, options, Range(100));
  const Tensor parameters = task->InitialParameters(4);
  const auto sum_at = [&](int64_t epoch) {
    task->StartEpoch(epoch, /*training=*/true);
    return GradientsOf(*task, parameters, {Range(100)}).sums.sum[1];
  };
  const double first = sum_at(0);
  EXPECT_EQ(sum_at(1), first);
  const double second = sum_at(2);
  EXPECT_NE(second, first);
  EXPECT_EQ(sum_at(0), first);
  // With --overfit_batches these structures are validated, too.
  const std::unique_ptr<ForceTask> whole = Make(data, Options(0.5, 0), Range(100));
  task->StartEpoch(5, /*training=*/false);
  const TermSums all = GradientsOf(*task, parameters, {Range(100)}).sums;
  const TermSums expected = GradientsOf(*whole, parameters, {Range(100)}).sums;
  EXPECT_EQ(all.count, expected.count);
  EXPECT_EQ(all.sum, expected.sum);
  EXPECT_EQ(sum_at(0), first);
  std::vector<int64_t> validation = Range(200);
  validation.erase(validation.begin(), validation.begin() + 100);
  double components = 0;
  for (const int64_t s : validation) components += 3.0 * static_cast<double>(data.num_atoms(s));
  EXPECT_EQ(GradientsOf(*task, parameters, {validation}).sums.count[1], components);
}

// As in aenet-python's option, the root of the mean is divided by the root of the sampled share, which is that of the
// training set: two halves of a batch add up to the batch.
TEST(ForceTaskTest, ForceScaleUnbiasedDividesByTheRootOfTheShare) {
  const AtomicData data = Tio2();
  AtomisticTaskOptions options = Options(1, 0);
  options.force_sampling.fraction = 0.25;
  const std::unique_ptr<ForceTask> plain = Make(data, options, Range(100));
  options.loss.force_scale_unbiased = true;
  const std::unique_ptr<ForceTask> scaled = Make(data, options, Range(100));
  const Tensor parameters = plain->InitialParameters(4);
  const Gradients a = GradientsOf(*plain, parameters, {Range(100)});
  const Gradients b = GradientsOf(*scaled, parameters, {Range(100)});
  double labeled = 0;
  for (int64_t s = 0; s < 100; ++s) labeled += 3.0 * static_cast<double>(data.num_atoms(s));
  EXPECT_NEAR(scaled->CombineTerms(b.sums).value,
              plain->CombineTerms(a.sums).value / std::sqrt(a.sums.count[1] / labeled), 1e-12);
  std::vector<int64_t> rest = Range(100);
  rest.erase(rest.begin(), rest.begin() + 37);
  ExpectNear(GradientsOf(*scaled, parameters, {Range(37), rest}), b, 1e-12);
  NamedTensors batch;
  ASSERT_TRUE(scaled->MakeBatch({1, 2, 3, 4, 5, 6, 7}, &batch).ok());
  const absl::Status status = CheckGradients(*scaled, parameters, batch);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ForceTaskTest, StepsAllocateNothing) {
  const AtomicData data = Tio2();
  const std::unique_ptr<ForceTask> task = Make(data, Options(0.2, 1, DType::kF32), Range(data.num_structures()));
  const Tensor parameters = task->InitialParameters(3);
  std::vector<Tensor> gradients(3);
  for (Tensor& gradient : gradients) gradient = Tensor::Zeros(DType::kF32, {task->num_parameters()});
  std::vector<double> metric_sums(task->num_metric_sums());
  TermSums sums(3);
  NamedTensors batch;
  int64_t largest = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    if (data.pairs(s).num_pairs() > data.pairs(largest).num_pairs()) largest = s;
  }
  std::vector<int64_t> examples(32, largest);
  size_t in_use = 0;
  for (int step = 0; step < 6; ++step) {
    ASSERT_TRUE(task->MakeBatch(examples, &batch).ok());
    ASSERT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
    ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
    if (step == 0) examples = Range(32);
    if (step == 1) in_use = mallinfo2().uordblks;
  }
  EXPECT_LE(mallinfo2().uordblks, in_use);
}

TEST(ForceTaskTest, NeedsForcesToLearnForces) {
  const AtomicData data = Tio2();
  EXPECT_TRUE(ForceTask::Create(data, Options(0.1, 0), {0, 1}).ok());
  const std::string path = ::testing::TempDir() + "/bare.extxyz";
  std::string text;
  for (int i = 0; i < 2; ++i) {
    absl::StrAppend(&text, "2\nLattice=\"5 0 0 0 5 0 0 0 5\" Properties=species:S:1:pos:R:3 energy=", -i - 1.5,
                    "\nTi 0 0 0\nO 2 0 ", i, "\n");
  }
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  AtomicDataOptions options;
  options.descriptor = data.descriptor();
  const absl::StatusOr<AtomicData> bare = AtomicData::Read({path}, options);
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_THAT(ForceTask::Create(*bare, Options(0.1, 0), {0, 1}).status().message(), HasSubstr("has forces"));
  EXPECT_THAT(ForceTask::Create(*bare, Options(0, 1), {0, 1}).status().message(), HasSubstr("has a stress"));
  EXPECT_TRUE(ForceTask::Create(*bare, Options(0, 0), {0, 1}).ok());
}

TEST(ForceTaskTest, StressOfSlabsDoesNotCount) {
  const std::string path = ::testing::TempDir() + "/slab.extxyz";
  std::string text;
  for (const char* pbc : {"T T F", "T T T", "F F F"}) {
    absl::StrAppend(&text,
                    "2\nLattice=\"5 0 0 0 5 0 0 0 5\" Properties=species:S:1:pos:R:3 energy=-1 stress=\"1 1 1 0 0 0\" "
                    "pbc=\"",
                    pbc, "\"\nTi 0 0 0\nO 2 0 1\n");
  }
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  AtomicDataOptions options;
  options.descriptor = Tio2().descriptor();
  const AtomicData data = AtomicData::Read({path}, options).value();
  for (const int s : {0, 1, 2}) {
    EXPECT_TRUE(data.records_stress(s));
    EXPECT_EQ(data.has_stress(s), s == 1);
    EXPECT_EQ(data.stress(s).size(), s == 1 ? 9 : 0);
  }
  EXPECT_TRUE(ForceTask::Create(data, Options(0, 1), {0, 1, 2}).ok());
  EXPECT_THAT(ForceTask::Create(data, Options(0, 1), {0, 2}).status().message(),
              HasSubstr("periodic in three directions"));
}

}  // namespace
}  // namespace rutile
