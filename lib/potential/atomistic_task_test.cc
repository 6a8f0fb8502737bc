#include "lib/potential/atomistic_task.h"

#include <ATen/ATen.h>
#include <malloc.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/chebyshev.h"
#include "lib/descriptor/feature_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/energy_predictor.h"
#include "lib/testing/golden_potential.h"
#include "lib/testing/gradient_check.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

std::string Temp(const std::string& name) { return testing::TempDir() + "/" + name; }

// Features of the golden structures in fp64 by the reference descriptor; "atoms" is what else there is to choose.
FeatureData GoldenData(const GoldenTraining& golden, const std::map<uint8_t, double>& atomic_energies,
                       int without_energy = -1) {
  const std::string path = Temp("golden_features.safetensors");
  FeatureWriter writer = *FeatureWriter::Create(path, golden.descriptor, DType::kF64, atomic_energies);
  const ChebyshevReference descriptor(golden.descriptor);
  const auto workspace = descriptor.MakeWorkspace();
  NeighborSearch search(descriptor.cutoff());
  NeighborList list;
  for (size_t s = 0; s < golden.structures.size(); ++s) {
    Structure structure = golden.structures[s];
    if (static_cast<int>(s) == without_energy) structure.energy.reset();
    EXPECT_TRUE(search.Compute(structure, &list).ok());
    const std::vector<uint8_t> species = SpeciesIndices(structure, golden.descriptor.species);
    std::vector<double> features(structure.size() * golden.descriptor.num_features());
    descriptor.Compute(species, list, workspace.get(), absl::MakeSpan(features));
    EXPECT_TRUE(writer.Append(structure, species, features).ok());
  }
  EXPECT_TRUE(writer.Finish({{"config_key", "config_type"}}).ok());
  absl::StatusOr<FeatureData> data = FeatureData::Read({path});
  EXPECT_TRUE(data.ok()) << data.status();
  return *std::move(data);
}

std::vector<int64_t> All(const FeatureData& data) {
  std::vector<int64_t> all(data.num_structures());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

AtomisticTaskOptions GoldenOptions(const GoldenTraining& golden) {
  AtomisticTaskOptions options;
  options.hidden = golden.initial_networks.hidden;
  options.precision = DType::kF64;
  for (size_t s = 0; s < golden.atomic_energies.size(); ++s) {
    options.atomic_energies[golden.descriptor.species[s]] = golden.atomic_energies[s];
  }
  return options;
}

class AtomisticTaskTest : public testing::Test {
 protected:
  AtomisticTaskTest()
      : golden_(ReadGoldenTraining()), data_(GoldenData(golden_, {})), options_(GoldenOptions(golden_)) {}

  std::unique_ptr<AtomisticTask> Make() {
    auto task = AtomisticTask::Create(data_, options_, All(data_));
    EXPECT_TRUE(task.ok()) << task.status();
    return *std::move(task);
  }
  std::string Error(absl::Span<const int64_t> train) {
    const auto task = AtomisticTask::Create(data_, options_, train);
    EXPECT_EQ(task.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(task.status().message());
  }

  GoldenTraining golden_;
  FeatureData data_;
  AtomisticTaskOptions options_;
};

// aenet's training of eight steps, made with autograd elsewhere: testdata/potential/README.md.
TEST_F(AtomisticTaskTest, FollowsTheGoldenTraining) {
  const auto task = Make();
  for (size_t i = 0; i < golden_.feature_mean.size(); ++i) {
    EXPECT_NEAR(task->feature_scaling().mean[i], golden_.feature_mean[i], 1e-10);
    EXPECT_NEAR(task->feature_scaling().scale[i] * golden_.feature_deviation[i], 1, 1e-9);
  }
  EXPECT_NEAR(task->energy_scaling().scale, golden_.energy_scaling, 1e-12);
  EXPECT_NEAR(task->energy_scaling().shift, golden_.energy_shift, 1e-12);
  const GoldenTraining::Run& run = golden_.runs[0];
  ASSERT_EQ(run.force_weight, 0);

  const size_t size = golden_.initial_networks.parameters.size();
  ASSERT_EQ(task->num_parameters(), size);
  Tensor parameters = Tensor::Of(golden_.initial_networks.parameters);
  std::vector<double> m(size, 0.0), v(size, 0.0);
  NamedTensors batch;
  int t = 0;
  for (const GoldenTraining::Step& step : run.steps) {
    SCOPED_TRACE(t);
    ASSERT_TRUE(task->MakeBatch(step.batch, &batch).ok());
    Tensor gradient = Tensor::Zeros(DType::kF64, {static_cast<int64_t>(size)});
    TermSums sums(1);
    ASSERT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(&gradient, 1), &sums).ok());
    const Loss loss = task->CombineTerms(sums);
    EXPECT_NEAR(loss.value, step.loss, 1e-9);
    EXPECT_NEAR(loss.value, step.energy_rmse, 1e-9);
    double norm = 0;
    ++t;
    const double correction1 = 1 - std::pow(golden_.beta1, t), correction2 = 1 - std::pow(golden_.beta2, t);
    for (size_t i = 0; i < size; ++i) {
      const double g = loss.weight[0] * gradient.values<double>()[i];
      norm += g * g;
      m[i] = golden_.beta1 * m[i] + (1 - golden_.beta1) * g;
      v[i] = golden_.beta2 * v[i] + (1 - golden_.beta2) * g * g;
      parameters.mutable_values<double>()[i] -=
          golden_.learning_rate * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + golden_.epsilon);
    }
    EXPECT_NEAR(std::sqrt(norm), step.gradient_norm, 1e-9);
  }
  for (size_t i = 0; i < size; ++i) {
    EXPECT_NEAR(parameters.values<double>()[i], run.final_networks.parameters[i], 1e-8) << i;
  }
}

TEST_F(AtomisticTaskTest, GradientsPassTheCheckForEveryLossAndPrecision) {
  for (const DType precision : {DType::kF64, DType::kF32}) {
    for (const EnergyLoss loss : {EnergyLoss::kRmse, EnergyLoss::kMse, EnergyLoss::kHuber}) {
      for (const Activation activation : {Activation::kTanh, Activation::kTwist, Activation::kSilu}) {
        options_.precision = precision;
        options_.loss = loss;
        options_.activation = activation;
        options_.huber_delta = 0.3;  // some errors on either side
        const auto task = Make();
        NamedTensors batch;
        ASSERT_TRUE(task->MakeBatch({4, 0, 5, 2}, &batch).ok());
        const absl::Status status = CheckGradients(*task, task->InitialParameters(3), batch);
        EXPECT_TRUE(status.ok()) << status << " loss " << static_cast<int>(loss) << " " << ActivationName(activation)
                                 << " " << DTypeName(precision);
      }
    }
  }
}

TEST_F(AtomisticTaskTest, ThreadsDoNotChangeABit) {
  std::vector<Tensor> gradients;
  std::vector<double> losses;
  for (const int threads : {1, 2}) {
    options_.num_threads = threads;
    const auto task = Make();
    NamedTensors batch;
    // Each structure many times: several blocks.
    std::vector<int64_t> examples;
    for (int i = 0; i < 150; ++i) examples.push_back(i % 6);
    ASSERT_TRUE(task->MakeBatch(examples, &batch).ok());
    gradients.push_back(Tensor::Zeros(DType::kF64, {task->num_parameters()}));
    TermSums sums(1);
    ASSERT_TRUE(
        task->AccumulateGradients(task->InitialParameters(1), batch, absl::MakeSpan(&gradients.back(), 1), &sums).ok());
    losses.push_back(sums.sum[0]);
  }
  EXPECT_EQ(gradients[0].ToDoubles(), gradients[1].ToDoubles());
  EXPECT_EQ(losses[0], losses[1]);
}

TEST_F(AtomisticTaskTest, BatchesGroupAtomsBySpeciesAndReuseMemory) {
  const auto task = Make();
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch({5, 1, 0}, &batch).ok());
  const auto offset = batch.At("species_offset").values<int64_t>();
  const double atoms = task->ExampleCost(5) + task->ExampleCost(1) + task->ExampleCost(0);
  EXPECT_EQ(offset[2], atoms);
  // A third of TiO2 is Ti.
  EXPECT_EQ(3 * offset[1], atoms);
  // The first row is the first Ti of structure 5, standardised.
  const auto species = data_.species(5);
  const int64_t first = std::find(species.begin(), species.end(), 0) - species.begin();
  const int num_features = data_.num_features();
  for (int f = 0; f < num_features; ++f) {
    const double g = data_.features<double>(5)[first * num_features + f];
    EXPECT_NEAR(batch.At("x").values<double>()[f], (g - golden_.feature_mean[f]) / golden_.feature_deviation[f], 1e-7);
  }
  EXPECT_EQ(batch.At("structure").values<int32_t>()[0], 0);
  const void* const memory = batch.At("x").data();
  ASSERT_TRUE(task->MakeBatch({0, 1, 2}, &batch).ok());
  EXPECT_EQ(batch.At("x").data(), memory);
  EXPECT_EQ(task->MakeBatch({6}, &batch).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(AtomisticTaskTest, AStepAllocatesNothing) {
  const auto task = Make();
  const Tensor parameters = task->InitialParameters(1);
  Tensor gradient = Tensor::Zeros(DType::kF64, {task->num_parameters()});
  std::vector<double> metric_sums(3);
  NamedTensors batch;
  TermSums sums(1);
  size_t before = 0;
  for (int i = 0; i < 4; ++i) {
    if (i == 1) before = mallinfo2().uordblks;
    ASSERT_TRUE(task->MakeBatch({0, 1, 2, 3, 4, 5}, &batch).ok());
    ASSERT_TRUE(task->AccumulateGradients(parameters, batch, absl::MakeSpan(&gradient, 1), &sums).ok());
    ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
  }
  EXPECT_EQ(mallinfo2().uordblks, before);
}

TEST_F(AtomisticTaskTest, MetricsAreErrorsPerAtom) {
  options_.loss = EnergyLoss::kMse;
  const auto task = Make();
  const Tensor parameters = task->InitialParameters(1);
  NamedTensors batch;
  ASSERT_TRUE(task->MakeBatch(All(data_), &batch).ok());
  TermSums sums(1);
  std::vector<double> metric_sums(3, 0.0);
  ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
  const std::vector<Metric> metrics = task->Metrics(metric_sums);
  ASSERT_EQ(metrics.size(), 2);
  EXPECT_EQ(metrics[0].name, "energy_rmse");
  EXPECT_EQ(metrics[0].unit, "meV/atom");
  EXPECT_NEAR(metrics[0].value, 1000 * std::sqrt(task->CombineTerms(sums).value), 1e-9);
  EXPECT_LE(metrics[1].value, metrics[0].value);
  EXPECT_GT(metrics[1].value, 0);
}

// The file that is written predicts what the task computes.
TEST_F(AtomisticTaskTest, TheModelFilePredictsTheSameEnergies) {
  for (const DType precision : {DType::kF64, DType::kF32}) {
    options_.precision = precision;
    options_.feature_scaling = FeatureScalingKind::kPerSpecies;
    const auto task = Make();
    const Tensor parameters = task->InitialParameters(2);
    ASSERT_TRUE(task->WriteModel(Temp("model.safetensors"), parameters, {{"epoch", "3"}}).ok());
    const absl::StatusOr<Potential> potential = ReadPotential(Temp("model.safetensors"));
    ASSERT_TRUE(potential.ok()) << potential.status();
    EXPECT_EQ(potential->metadata.at("epoch"), "3");
    EnergyPredictor predictor(*potential);
    for (int64_t s = 0; s < data_.num_structures(); ++s) {
      NamedTensors batch;
      ASSERT_TRUE(task->MakeBatch({s}, &batch).ok());
      TermSums sums(1);
      std::vector<double> metric_sums(3, 0.0);
      ASSERT_TRUE(task->Evaluate(parameters, batch, &sums, absl::MakeSpan(metric_sums)).ok());
      const double error = predictor.Predict(data_.features<double>(s), data_.species(s)) - data_.energy(s);
      EXPECT_NEAR(metric_sums[1], std::abs(error) / static_cast<double>(data_.num_atoms(s)), 1e-12);
    }
  }
}

TEST_F(AtomisticTaskTest, AtomicEnergiesGivenInTheDataOrFitted) {
  options_.atomic_energies.clear();
  const auto fitted = Make();
  EXPECT_TRUE(fitted->atomic_energies_fitted());
  // All of these are TiO2: the fit of least norm has O at twice Ti.
  EXPECT_NEAR(fitted->atomic_energies()[1], 2 * fitted->atomic_energies()[0], 1e-9);
  EXPECT_GT(fitted->atomic_energy_residual(), 0);
  EXPECT_NEAR(fitted->energy_scaling().scale, golden_.energy_scaling, 1e-9);  // the spread is what it was

  data_ = GoldenData(golden_, {{22, -3}, {8, -2}});
  const auto in_data = Make();
  EXPECT_FALSE(in_data->atomic_energies_fitted());
  EXPECT_EQ(in_data->atomic_energies(), (std::vector<double>{-3, -2}));

  options_.atomic_energies = {{22, -4}};
  EXPECT_THAT(Error({0}), HasSubstr("none of O"));
}

TEST_F(AtomisticTaskTest, ScalesComeFromTheTrainingStructuresAlone) {
  const auto all = Make();
  const auto some = AtomisticTask::Create(data_, options_, {0, 1, 2});
  ASSERT_TRUE(some.ok());
  EXPECT_NE((*some)->feature_scaling().mean, all->feature_scaling().mean);
  EXPECT_NE((*some)->energy_scaling().scale, all->energy_scaling().scale);
  options_.scale_energies = false;
  EXPECT_EQ(Make()->energy_scaling().scale, 1);
}

TEST_F(AtomisticTaskTest, StructuresWithoutEnergyDoNotCount) {
  data_ = GoldenData(golden_, {}, /*without_energy=*/2);
  EXPECT_THAT(Error({0, 2}), HasSubstr("has no energy"));
  const std::vector<int64_t> none;
  EXPECT_THAT(Error(none), HasSubstr("train"));

  const auto task = AtomisticTask::Create(data_, options_, {0, 1});
  ASSERT_TRUE(task.ok());
  NamedTensors with, without;
  ASSERT_TRUE((*task)->MakeBatch({0, 2, 1}, &with).ok());
  ASSERT_TRUE((*task)->MakeBatch({0, 1}, &without).ok());
  EXPECT_THAT((*task)->ExampleCounts(with), testing::ElementsAre(1, 0, 1));
  const Tensor parameters = (*task)->InitialParameters(1);
  EXPECT_TRUE(CheckGradients(**task, parameters, with).ok());
  Tensor a = Tensor::Zeros(DType::kF64, {(*task)->num_parameters()}), b = Tensor::Zeros(DType::kF64, a.shape());
  TermSums sums_a(1), sums_b(1);
  ASSERT_TRUE((*task)->AccumulateGradients(parameters, with, absl::MakeSpan(&a, 1), &sums_a).ok());
  ASSERT_TRUE((*task)->AccumulateGradients(parameters, without, absl::MakeSpan(&b, 1), &sums_b).ok());
  EXPECT_EQ(sums_a.count[0], 2);
  EXPECT_NEAR(sums_a.sum[0], sums_b.sum[0], 1e-12);
  for (int64_t i = 0; i < a.num_elements(); ++i) EXPECT_NEAR(a.values<double>()[i], b.values<double>()[i], 1e-12);
}

TEST_F(AtomisticTaskTest, LossesOfNothingAndOfNoError) {
  const auto task = Make();
  TermSums sums(1);
  EXPECT_EQ(task->CombineTerms(sums).value, 0);
  sums.count[0] = 4;
  const Loss zero = task->CombineTerms(sums);
  EXPECT_EQ(zero.value, 0);
  EXPECT_EQ(zero.weight[0], 0);
  sums.sum[0] = 16;
  const Loss two = task->CombineTerms(sums);
  EXPECT_EQ(two.value, 2);
  EXPECT_EQ(two.weight[0], 1 / (2 * 4 * 2.0));
}

TEST_F(AtomisticTaskTest, ParameterNamesCoverTheFlatTensor) {
  const auto task = Make();
  int64_t end = 0;
  for (const ParameterSlice& slice : task->parameter_slices()) {
    EXPECT_EQ(slice.offset, end) << slice.name;
    int64_t size = 1;
    for (const int64_t n : slice.shape) size *= n;
    end += size;
  }
  EXPECT_EQ(end, task->num_parameters());
  EXPECT_EQ(task->parameter_slices()[0].name, "network.Ti.0.weight");
  options_.hidden = {0};
  EXPECT_THAT(Error({0}), HasSubstr("--hidden"));
}

}  // namespace
}  // namespace rutile
