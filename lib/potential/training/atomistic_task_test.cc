#include "lib/potential/training/atomistic_task.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/descriptor_factory.h"
#include "lib/descriptor/files/feature_file.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/prediction/energy_predictor.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string Temp(const std::string& name) { return ::testing::TempDir() + "/" + name; }

AtomicData Tio2(DType precision, const std::map<uint8_t, double>& atomic_energies = {}) {
  FeaturizeOptions options;
  options.descriptor.species = {22, 8};
  options.descriptor.rad_order = 6;
  options.descriptor.rad_cutoff = 4.5;
  options.descriptor.ang_cutoff = 3;
  options.precision = precision;
  options.atomic_energies = atomic_energies;
  const std::string path = Temp("tio2.safetensors");
  EXPECT_TRUE(Featurize({"data/tio2-pbe/tio2-pbe.extxyz"}, path, options, {}).ok());
  return *AtomicData::Read({path}, {});
}

std::vector<int64_t> Range(int64_t n) {
  std::vector<int64_t> range(n);
  std::iota(range.begin(), range.end(), 0);
  return range;
}

std::unique_ptr<AtomisticTask> Make(const AtomicData& data, const AtomisticTaskOptions& options) {
  absl::StatusOr<std::unique_ptr<AtomisticTask>> task =
      AtomisticTask::Create(data, options, Range(data.num_structures()));
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

struct Case {
  LossKind loss;
  Activation activation;
  std::vector<int> hidden;
  DType precision;
};

class AtomisticTaskGradientTest : public ::testing::TestWithParam<Case> {};

TEST_P(AtomisticTaskGradientTest, AgreesWithAutogradAndFiniteDifferences) {
  AtomisticTaskOptions options;
  options.loss.kind = GetParam().loss;
  options.loss.energy_delta = 0.3;  // errors fall on both sides of it
  options.activation = GetParam().activation;
  options.hidden = GetParam().hidden;
  options.precision = GetParam().precision;
  const AtomicData data = Tio2(DType::kF64);
  const std::unique_ptr<AtomisticTask> task = Make(data, options);
  NamedTensors batch;
  for (const std::vector<int64_t>& examples : {std::vector<int64_t>{7}, {3, 200, 41, 402, 5, 9, 77}}) {
    ASSERT_TRUE(task->MakeBatch(examples, &batch).ok());
    const absl::Status status = CheckGradients(*task, task->InitialParameters(5), batch);
    EXPECT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AtomisticTaskGradientTest,
                         ::testing::Values(Case{LossKind::kRmse, Activation::kTanh, {16, 16}, DType::kF64},
                                           Case{LossKind::kRmse, Activation::kTanh, {16, 16}, DType::kF32},
                                           Case{LossKind::kMse, Activation::kSigmoid, {7, 5}, DType::kF64},
                                           Case{LossKind::kHuber, Activation::kSilu, {33, 17, 9}, DType::kF64},
                                           Case{LossKind::kHuber, Activation::kMtanh, {1}, DType::kF64},
                                           Case{LossKind::kRmse, Activation::kTwist, {10}, DType::kF64},
                                           Case{LossKind::kMse, Activation::kLinear, {}, DType::kF64}));

// Follows testdata/potential/training_trace.json: features, scales, losses, gradients and weights of a short training.
TEST(AtomisticTaskTest, FollowsTheGoldenTraining) {
  const GoldenTraining golden = ReadGoldenTraining();
  const std::unique_ptr<const Descriptor> descriptor = MakeDescriptor(golden.descriptor, AngularMethod::kMoments);
  std::map<uint8_t, double> atomic_energies;
  for (size_t s = 0; s < golden.descriptor.species.size(); ++s) {
    atomic_energies[golden.descriptor.species[s]] = golden.atomic_energies[s];
  }
  const std::string path = Temp("golden.safetensors");
  FeatureWriter writer = *FeatureWriter::Create(path, golden.descriptor, DType::kF64, atomic_energies);
  NeighborSearch search(descriptor->cutoff());
  NeighborList neighbors;
  const std::unique_ptr<Descriptor::Workspace> workspace = descriptor->MakeWorkspace();
  for (const Structure& structure : golden.structures) {
    const std::vector<uint8_t> species = SpeciesIndices(structure, golden.descriptor.species);
    ASSERT_TRUE(search.Compute(structure, &neighbors).ok());
    std::vector<double> features(structure.size() * descriptor->num_features());
    descriptor->Compute(species, neighbors, workspace.get(), absl::MakeSpan(features));
    ASSERT_TRUE(writer.Append(structure, species, features).ok());
  }
  ASSERT_TRUE(writer.Finish({{"config_key", "config_type"}}).ok());

  AtomisticTaskOptions options;
  options.hidden = golden.initial_networks.hidden;
  options.precision = DType::kF64;
  const std::unique_ptr<AtomisticTask> task = Make(*AtomicData::Read({path}, {}), options);
  EXPECT_NEAR(task->model().energy_scaling().scale, golden.energy_scaling, 1e-10 * golden.energy_scaling);
  EXPECT_NEAR(task->model().energy_scaling().shift, golden.energy_shift, 1e-10);
  EXPECT_FALSE(task->model().atomic_energies_fitted());
  for (size_t f = 0; f < golden.feature_mean.size(); ++f) {
    EXPECT_NEAR(task->model().feature_scaling().mean[f], golden.feature_mean[f], 1e-10);
    EXPECT_NEAR(task->model().feature_scaling().scale[f] * golden.feature_deviation[f], 1, 1e-9);
  }

  ASSERT_EQ(golden.runs[0].force_weight, 0);
  Tensor parameters = Tensor::Of(golden.initial_networks.parameters);
  const absl::Span<double> p = parameters.mutable_values<double>();
  std::vector<double> mean(p.size()), square(p.size());
  NamedTensors batch;
  int64_t t = 0;
  for (const GoldenTraining::Step& step : golden.runs[0].steps) {
    ASSERT_TRUE(task->MakeBatch(step.batch, &batch).ok());
    std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF64, {task->num_parameters()})};
    TermSums sums(1);
    ASSERT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
    const Loss loss = task->CombineTerms(sums);
    EXPECT_NEAR(loss.value, step.loss, 1e-9);
    const absl::Span<double> g = gradients[0].mutable_values<double>();
    double norm = 0;
    for (double& x : g) {
      x *= loss.weight[0];
      norm += x * x;
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
  const std::vector<double>& expected = golden.runs[0].final_networks.parameters;
  for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(p[i], expected[i], 1e-8);
}

TEST(AtomisticTaskTest, BitsDoNotDependOnThreads) {
  const AtomicData data = Tio2(DType::kF32);
  AtomisticTaskOptions options;
  const std::unique_ptr<AtomisticTask> one = Make(data, options);
  options.num_threads = 2;
  const std::unique_ptr<AtomisticTask> two = Make(data, options);
  const Tensor parameters = one->InitialParameters(3);
  NamedTensors batch;
  ASSERT_TRUE(one->MakeBatch(Range(data.num_structures()), &batch).ok());
  std::vector<Tensor> a = {Tensor::Zeros(DType::kF32, {one->num_parameters()})};
  std::vector<Tensor> b = {Tensor::Zeros(DType::kF32, {one->num_parameters()})};
  TermSums sums_a(1), sums_b(1);
  ASSERT_TRUE(one->AccumulateGradients(parameters, batch, absl::MakeSpan(a), &sums_a).ok());
  ASSERT_TRUE(two->AccumulateGradients(parameters, batch, absl::MakeSpan(b), &sums_b).ok());
  EXPECT_EQ(sums_a.sum, sums_b.sum);
  EXPECT_EQ(a[0].ToDoubles(), b[0].ToDoubles());
}

// Features that are scaled while they are read, and batches that are computed in parts: the same bits, and the same
// sums to rounding.
TEST(AtomisticTaskTest, NeitherScalingWhileReadingNorPartsChangeTheGradient) {
  for (const DType stored : {DType::kF32, DType::kF64}) {
    const AtomicData data = Tio2(stored);
    for (const DType precision : {DType::kF32, DType::kF64}) {
      AtomisticTaskOptions options;
      options.precision = precision;
      struct Found {
        std::vector<double> gradient, sums, evaluated, x;
      };
      const auto find = [&](int64_t bytes, int64_t together, int threads) {
        options.standardized_bytes = bytes;
        options.atoms_together = together;
        options.num_threads = threads;
        const std::unique_ptr<AtomisticTask> task = Make(data, options);
        NamedTensors batch;
        EXPECT_TRUE(task->MakeBatch({3, 200, 41, 402, 5, 9, 77, 3}, &batch).ok());
        std::vector<Tensor> gradient = {Tensor::Zeros(precision, {task->num_parameters()})};
        TermSums sums(1);
        const Tensor parameters = task->InitialParameters(5);
        EXPECT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradient), &sums).ok());
        std::vector<double> metrics(3);
        for (int twice = 0; twice < 2; ++twice) {  // the second time from transposed features
          EXPECT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metrics)).ok());
        }
        if (precision == DType::kF64) {
          EXPECT_EQ(CheckGradients(*task, parameters, batch), absl::OkStatus());
        }
        return Found{gradient[0].ToDoubles(), sums.sum, metrics, task->CompleteBatch(batch)->At("x").ToDoubles()};
      };
      constexpr int64_t kAll = int64_t{1} << 40;
      const Found whole = find(kAll, kAll, 1), read = find(0, kAll, 2);
      EXPECT_EQ(read.gradient, whole.gradient);
      EXPECT_EQ(read.sums, whole.sums);
      EXPECT_EQ(read.evaluated, whole.evaluated);
      EXPECT_EQ(read.x, whole.x);
      const Found parts = find(kAll, 30, 1), read_parts = find(0, 30, 2);
      EXPECT_EQ(read_parts.gradient, parts.gradient);
      EXPECT_EQ(read_parts.sums, parts.sums);
      EXPECT_EQ(read_parts.evaluated, parts.evaluated);
      // Sums of parts are added in another order: a few units in the last place of the largest.
      double size = 0;
      for (const double each : whole.gradient) size = std::max(size, std::abs(each));
      const double tolerance = (precision == DType::kF32 ? 1e-5 : 1e-13) * size;
      for (size_t i = 0; i < whole.gradient.size(); ++i) {
        EXPECT_NEAR(parts.gradient[i], whole.gradient[i], tolerance) << i;
      }
      EXPECT_NEAR(parts.sums[0], whole.sums[0], 1e-5 * whole.sums[0]);
    }
  }
}

// A network that is frozen as a whole has no gradient, a half-frozen one has all of it; sums do not depend on freezing.
TEST(AtomisticTaskTest, FrozenNetworksAreLeftOut) {
  AtomisticTaskOptions options;
  options.precision = DType::kF64;
  const AtomicData data = Tio2(DType::kF64);
  const std::unique_ptr<AtomisticTask> task = Make(data, options);
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

TEST(AtomisticTaskTest, PartsAddUp) {
  const AtomicData data = Tio2(DType::kF64);
  AtomisticTaskOptions options;
  options.precision = DType::kF64;
  const std::unique_ptr<AtomisticTask> task = Make(data, options);
  const Tensor parameters = task->InitialParameters(3);
  auto run = [&](std::vector<std::vector<int64_t>> parts, TermSums* sums) {
    std::vector<Tensor> gradient = {Tensor::Zeros(DType::kF64, {task->num_parameters()})};
    for (const std::vector<int64_t>& part : parts) {
      NamedTensors batch;
      EXPECT_TRUE(task->MakeBatch(part, &batch).ok());
      EXPECT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradient), sums).ok());
    }
    return gradient[0].ToDoubles();
  };
  TermSums whole(1), parts(1);
  const std::vector<double> a = run({{1, 2, 3, 4, 5}}, &whole), b = run({{1, 2}, {3, 4, 5}}, &parts);
  EXPECT_EQ(whole.count, parts.count);
  EXPECT_NEAR(whole.sum[0], parts.sum[0], 1e-12 * whole.sum[0]);
  const double size = std::abs(*std::max_element(a.begin(), a.end()));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12 * size);
}

// The written model file predicts the energies of the task that wrote it.
TEST(AtomisticTaskTest, ModelPredictsWhatTheTaskEvaluates) {
  const AtomicData data = Tio2(DType::kF64);
  AtomisticTaskOptions options;
  options.precision = DType::kF64;
  options.feature_scaling = FeatureScalingKind::kPerSpecies;
  const std::unique_ptr<AtomisticTask> task = Make(data, options);
  EXPECT_TRUE(task->model().atomic_energies_fitted());
  const Tensor parameters = task->InitialParameters(3);
  ASSERT_TRUE(task->WriteModel(Temp("model.safetensors"), parameters, {{"epoch", "4"}}).ok());
  const absl::StatusOr<Potential> potential = ReadPotential(Temp("model.safetensors"));
  ASSERT_TRUE(potential.ok()) << potential.status();
  EXPECT_EQ(potential->metadata.at("epoch"), "4");
  EnergyPredictor predictor(*potential);
  double square = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    const double error = predictor.Predict(data.features<double>(s), data.species(s)) - data.energy(s);
    square += std::pow(error / static_cast<double>(data.num_atoms(s)), 2);
  }
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch(Range(data.num_structures()), &batch).ok());
  TermSums sums(1);
  std::vector<double> metric_sums(task->num_metric_sums());
  ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
  EXPECT_NEAR(sums.sum[0], square, 1e-10 * square);
  EXPECT_NEAR(task->Metrics(metric_sums)[0].value, 1000 * std::sqrt(square / 403), 1e-7);
}

TEST(AtomisticTaskTest, BatchesReuseMemoryAndStepsAllocateNothing) {
  const AtomicData data = Tio2(DType::kF32);
  const std::unique_ptr<AtomisticTask> task = Make(data, {});
  const Tensor parameters = task->InitialParameters(3);
  std::vector<Tensor> gradients = {Tensor::Zeros(DType::kF32, {task->num_parameters()})};
  std::vector<double> metric_sums(task->num_metric_sums());
  TermSums sums(1);
  NamedTensors batch, evaluated;
  // The largest batch comes first: later ones fit into its memory, whatever their number of atoms.
  int64_t largest = 0;
  for (int64_t s = 0; s < data.num_structures(); ++s) {
    if (data.num_atoms(s) > data.num_atoms(largest)) largest = s;
  }
  std::vector<int64_t> examples(32);
  const void* memory = nullptr;
  size_t in_use = 0;
  for (int step = 0; step < 8; ++step) {
    for (int64_t& s : examples) s = step == 0 ? largest : (s + 32) % data.num_structures();
    ASSERT_TRUE(task->MakeBatch(examples, &batch).ok());
    ASSERT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(gradients), &sums).ok());
    if (step == 0) {
      ASSERT_TRUE(task->MakeBatch(examples, &evaluated).ok());
    }
    ASSERT_TRUE(task->Evaluate(parameters, evaluated, &sums, absl::MakeSpan(metric_sums)).ok());
    if (step == 0) {
      memory = batch.At("row").data();
      in_use = mallinfo2().uordblks;
      examples = Range(32);
    }
  }
  EXPECT_EQ(batch.At("row").data(), memory);
  EXPECT_EQ(mallinfo2().uordblks, in_use);
  EXPECT_TRUE(CheckGradients(*task, parameters, batch).ok());  // rows of the larger batch are not read
}

TEST(AtomisticTaskTest, ABatchOfOthersIsMadeAnew) {
  const AtomicData data = Tio2(DType::kF32);
  const std::unique_ptr<AtomisticTask> task = Make(data, {}),
                                       other = Make(Tio2(DType::kF32, {{22, -3.0}, {8, -2.0}}), {});
  NamedTensors reused;
  for (const AtomisticTask* const made_by : {task.get(), task.get(), other.get(), task.get()}) {
    for (const std::vector<int64_t>& examples : {Range(7), Range(7), std::vector<int64_t>{6, 5, 6}}) {
      NamedTensors fresh;
      ASSERT_TRUE(made_by->MakeBatch(examples, &fresh).ok());
      ASSERT_TRUE(made_by->MakeBatch(examples, &reused).ok());
      for (const auto& [name, tensor] : fresh) {
        ASSERT_EQ(reused.At(name).num_bytes(), tensor.num_bytes()) << name;
        EXPECT_EQ(std::memcmp(reused.At(name).data(), tensor.data(), tensor.num_bytes()), 0) << name;
      }
    }
  }
}

TEST(AtomisticTaskTest, EvaluatingABatchAgainGivesTheSameBits) {
  const AtomicData data = Tio2(DType::kF32);
  for (const DType precision : {DType::kF32, DType::kF64}) {
    for (const int threads : {1, 2}) {
      AtomisticTaskOptions options;
      options.precision = precision;
      options.num_threads = threads;
      const auto evaluate = [](AtomisticTask* task, const std::vector<int64_t>& examples, uint64_t seed) {
        NamedTensors batch;
        TermSums sums(1);
        std::vector<double> metric_sums(task->num_metric_sums());
        const Tensor parameters = task->InitialParameters(seed);
        EXPECT_TRUE(task->MakeBatch(examples, &batch).ok());
        EXPECT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
        metric_sums.push_back(sums.sum[0]);
        return metric_sums;
      };
      const std::unique_ptr<AtomisticTask> task = Make(data, options);
      // Evaluates the same batch again; with other parameters; batches that begin alike or hold the same examples in
      // another order.
      const std::vector<int64_t> others = {0, 5, 400}, reversed = {400, 5, 0};
      for (const uint64_t seed : {1, 2, 1}) {
        for (const auto& examples : {Range(100), Range(99), others, reversed, others}) {
          EXPECT_EQ(evaluate(task.get(), examples, seed), evaluate(Make(data, options).get(), examples, seed));
        }
      }
    }
  }
}

TEST(AtomisticTaskTest, AtomicEnergiesAreGivenForAllOrNone) {
  const AtomicData data = Tio2(DType::kF32, {{22, -3.0}, {8, -2.0}});
  const std::unique_ptr<AtomisticTask> from_data = Make(data, {});
  EXPECT_EQ(from_data->model().atomic_energies(), (std::vector<double>{-3, -2}));
  AtomisticTaskOptions options;
  options.atomic_energies = {{22, -1.0}, {8, -1.0}};
  EXPECT_EQ(Make(data, options)->model().atomic_energies(), (std::vector<double>{-1, -1}));
  options.atomic_energies = {{8, -1.0}};
  EXPECT_THAT(AtomisticTask::Create(data, options, {0, 1}).status().message(), HasSubstr("none for Ti"));
  EXPECT_FALSE(AtomisticTask::Create(data, {}, {}).ok());
}

TEST(AtomisticTaskTest, ConstantFeaturesAreIgnored) {
  // With one structure, features that its atoms have in common are constant.
  const AtomicData data = Tio2(DType::kF64);
  AtomisticTaskOptions options;
  options.scale_energies = false;
  const absl::StatusOr<std::unique_ptr<AtomisticTask>> task = AtomisticTask::Create(data, options, {0, 1, 2});
  ASSERT_TRUE(task.ok());
  EXPECT_EQ((*task)->model().energy_scaling().scale, 1);
  EXPECT_EQ((*task)->model().energy_scaling().shift, 0);
  for (const double scale : (*task)->model().feature_scaling().scale) EXPECT_LT(scale, 1e7);
}

}  // namespace
}  // namespace rutile
