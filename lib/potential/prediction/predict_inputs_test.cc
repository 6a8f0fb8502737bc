#include "lib/potential/prediction/predict_inputs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/neighbor/neighbor_file.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/potential/prediction/force_predictor.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

absl::StatusOr<std::vector<StructurePrediction>> Predict(const Potential& model, const std::vector<std::string>& inputs,
                                                         const PredictOptions& options = {}) {
  return PredictInputs(absl::MakeConstSpan(&model, 1), inputs, options);
}

std::string FeaturePath(const DescriptorOptions& descriptor) {
  FeaturizeOptions featurize;
  featurize.descriptor = descriptor.chebyshev();
  featurize.precision = DType::kF64;
  const std::string path = ::testing::TempDir() + "/features.safetensors";
  EXPECT_TRUE(Featurize({kTio2}, path, featurize, {}).ok());
  return path;
}

std::string NeighborPath(double cutoff) {
  const std::string path = ::testing::TempDir() + "/neighbors.safetensors";
  NeighborFileOptions options;
  options.cutoff = cutoff;
  options.species = {8, 22};  // in another order than the model's
  NeighborWriter writer = *NeighborWriter::Create(path, options);
  NeighborSearch search(cutoff);
  NeighborList list;
  Structure structure;
  auto reader = *StructureReader::Open(kTio2);
  while (*reader->Next(&structure)) {
    EXPECT_TRUE(search.Compute(structure, &list).ok());
    EXPECT_TRUE(writer.Append(structure, list, nullptr).ok());
  }
  EXPECT_TRUE(writer.Finish({{"config_key", "config_type"}}).ok());
  return path;
}

TEST(PredictInputsTest, FeaturesAndNeighborsTogetherAreTheSameStructures) {
  const Potential model = SmallTiO2Potential(3);
  const std::string features = FeaturePath(model.descriptor), neighbors = NeighborPath(4);
  for (const bool forces : {true, false}) {
    PredictOptions options;
    options.forces = forces;
    const auto expected = Predict(model, {kTio2}, options), found = Predict(model, {features, neighbors}, options);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->size(), 403u);
    for (size_t s = 0; s < found->size(); ++s) {
      EXPECT_NEAR((*found)[s].predicted_energy, (*expected)[s].predicted_energy, 1e-9);
      EXPECT_EQ((*found)[s].predicted_force, (*expected)[s].predicted_force);
    }
  }
  // The neighbors are of other structures.
  EXPECT_FALSE(Predict(model, {features, features, neighbors}).ok());
}

TEST(PredictInputsTest, AllKindsOfDataAndNumbersOfThreadsGiveTheSame) {
  const Potential model = SmallTiO2Potential(3);
  const auto expected = Predict(model, {kTio2});
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(expected->size(), 403u);
  PredictOptions two_threads;
  two_threads.num_threads = 2;
  for (const std::string& path : {std::string(kTio2), FeaturePath(model.descriptor), NeighborPath(4)}) {
    const auto predictions = Predict(model, {path}, two_threads);
    ASSERT_TRUE(predictions.ok()) << predictions.status();
    ASSERT_EQ(predictions->size(), expected->size());
    for (size_t s = 0; s < expected->size(); ++s) {
      const StructurePrediction &a = (*predictions)[s], &b = (*expected)[s];
      EXPECT_EQ(a.name, b.name);
      EXPECT_EQ(a.config_type, b.config_type);
      EXPECT_EQ(a.composition, b.composition);
      EXPECT_EQ(a.element, b.element);
      EXPECT_EQ(a.reference_energy, b.reference_energy);
      EXPECT_EQ(a.predicted_energy, b.predicted_energy) << path;
      EXPECT_EQ(a.atom_energy, b.atom_energy);
      EXPECT_EQ(a.predicted_force, b.predicted_force) << path;
      EXPECT_EQ(a.predicted_stress, b.predicted_stress);
      EXPECT_FALSE(a.atoms_outside.has_value());
      EXPECT_FALSE(a.energy_spread.has_value());
    }
  }
  EXPECT_EQ((*expected)[0].composition, "Ti2O4");
  EXPECT_EQ((*expected)[0].predicted_force.size(), 18u);
}

// The file has pairs beyond the descriptor's cutoff.
TEST(PredictInputsTest, NeighborsMayReachFartherThanNeeded) {
  const Potential model = SmallTiO2Potential(3);
  PredictOptions options;
  options.frames = {0, 200};
  const auto expected = Predict(model, {kTio2}, options);
  const auto predictions = Predict(model, {NeighborPath(5)}, options);
  ASSERT_TRUE(expected.ok() && predictions.ok()) << predictions.status();
  for (size_t s = 0; s < 2; ++s) {
    EXPECT_NEAR((*predictions)[s].predicted_energy, (*expected)[s].predicted_energy, 1e-10);
    for (size_t c = 0; c < (*expected)[s].predicted_force.size(); ++c) {
      EXPECT_NEAR((*predictions)[s].predicted_force[c], (*expected)[s].predicted_force[c], 1e-10);
    }
  }
}

TEST(PredictInputsTest, EnergiesAlone) {
  const Potential model = SmallTiO2Potential(3);
  const auto expected = Predict(model, {kTio2});
  PredictOptions options;
  options.forces = false;
  for (const std::string& path : {std::string(kTio2), FeaturePath(model.descriptor)}) {
    const auto predictions = Predict(model, {path}, options);
    ASSERT_TRUE(predictions.ok()) << predictions.status();
    for (size_t s = 0; s < expected->size(); ++s) {
      EXPECT_NEAR((*predictions)[s].predicted_energy, (*expected)[s].predicted_energy, 1e-9) << path;
      EXPECT_THAT((*predictions)[s].predicted_force, IsEmpty());
      EXPECT_THAT((*predictions)[s].reference_force, IsEmpty());
      EXPECT_THAT((*predictions)[s].atom_energy, Not(IsEmpty()));
    }
  }
}

TEST(PredictInputsTest, CommitteesHaveASpread) {
  const std::vector<Potential> models = {SmallTiO2Potential(1), SmallTiO2Potential(2)};
  PredictOptions options;
  options.frames = {7};
  const auto first = Predict(models[0], {kTio2}, options), second = Predict(models[1], {kTio2}, options);
  const auto both = PredictInputs(models, {kTio2}, options);
  ASSERT_TRUE(first.ok() && second.ok() && both.ok()) << both.status();
  const double a = (*first)[0].predicted_energy, b = (*second)[0].predicted_energy;
  EXPECT_NEAR((*both)[0].predicted_energy, (a + b) / 2, 1e-10);
  EXPECT_NEAR((*both)[0].energy_spread.value(), std::abs(a - b) / 2, 1e-10);
  EXPECT_EQ((*both)[0].force_spread.size(), (*both)[0].num_atoms);
}

TEST(PredictInputsTest, CountsAtomsOutsideTheTrainingRange) {
  Potential model = SmallTiO2Potential(1);
  const size_t size = model.feature_scaling.scale.size();
  model.feature_range = {std::vector<double>(size, -1e3), std::vector<double>(size, 1e3)};
  PredictOptions options;
  options.frames = {0};
  EXPECT_EQ((*Predict(model, {kTio2}, options))[0].atoms_outside, 0);
  model.feature_range.max[0] = -1e3;  // the first feature of Ti, which two atoms of Ti2O4 have
  EXPECT_EQ((*Predict(model, {kTio2}, options))[0].atoms_outside, 2);
}

TEST(PredictInputsTest, CallsBackWithPredictionsAndNumbers) {
  Potential model = SmallTiO2Potential(1);
  const size_t size = model.feature_scaling.scale.size();
  model.feature_range = {std::vector<double>(size, -1e3), std::vector<double>(size, 1e3)};
  model.feature_range.max[0] = -1e3;  // the first feature of Ti
  PredictOptions options;
  options.frames = {400, 403, 1};
  std::vector<int64_t> numbers;
  std::vector<double> energies;
  options.on_prediction = [&](const PredictedStructure& p) {
    numbers.push_back(p.number);
    energies.push_back(p.prediction.predicted_energy);
    EXPECT_EQ(p.structure.name, p.prediction.name);
    EXPECT_EQ(static_cast<int64_t>(p.outside.size()), p.structure.size());
    for (size_t i = 0; i < p.outside.size(); ++i) EXPECT_EQ(p.outside[i], p.structure.element[i] == 22 ? 1 : 0);
    return absl::OkStatus();
  };
  const auto predictions = Predict(model, {kTio2, kTio2}, options);
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  EXPECT_THAT(numbers, ::testing::ElementsAre(1, 400, 403));
  ASSERT_EQ(predictions->size(), 3u);
  for (int s = 0; s < 3; ++s) EXPECT_EQ((*predictions)[s].predicted_energy, energies[s]);

  options.on_prediction = [](const PredictedStructure&) { return absl::ResourceExhaustedError("full"); };
  EXPECT_TRUE(absl::IsResourceExhausted(Predict(model, {kTio2}, options).status()));
}

TEST(PredictInputsTest, ChoosesByFrameAndConfigType) {
  const Potential model = SmallTiO2Potential(1);
  const std::string features = FeaturePath(model.descriptor);
  PredictOptions options;
  options.forces = false;
  // Frames are counted over all inputs.
  options.frames = {400, 403, 1};
  std::vector<std::string> seen;
  options.on_structure = [&](const Structure& structure) {
    seen.push_back(structure.name);
    return absl::OkStatus();
  };
  const auto chosen = Predict(model, {features, kTio2}, options);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  ASSERT_EQ(chosen->size(), 3u);
  EXPECT_EQ((*chosen)[0].name, "data/tio2-pbe/tio2-pbe.extxyz#1");
  EXPECT_EQ((*chosen)[2].name, "data/tio2-pbe/tio2-pbe.extxyz#0");
  EXPECT_THAT(seen, ::testing::ElementsAre((*chosen)[0].name, (*chosen)[1].name, (*chosen)[2].name));

  options.frames.reset();
  options.config_type = "ru*";
  const auto rutile = Predict(model, {kTio2}, options);
  ASSERT_TRUE(rutile.ok()) << rutile.status();
  EXPECT_GT(rutile->size(), 10u);
  for (const StructurePrediction& p : *rutile) EXPECT_EQ(p.config_type, "rutile");
}

// A shard has every third of the structures that frames and config type select, for every kind of input.
TEST(PredictInputsTest, ShardsAreDealtOut) {
  const Potential model = SmallTiO2Potential(3);
  PredictOptions options;
  options.forces = false;
  options.config_type = "rutile";
  const auto all = Predict(model, {kTio2}, options);
  ASSERT_TRUE(all.ok()) << all.status();
  options.num_shards = 3;
  for (options.shard = 1; options.shard <= 3; ++options.shard) {
    for (const std::string& input : {std::string(kTio2), FeaturePath(model.descriptor)}) {
      const auto part = Predict(model, {input}, options);
      ASSERT_TRUE(part.ok()) << part.status();
      ASSERT_EQ(part->size(), (all->size() + 3 - options.shard) / 3);
      for (size_t k = 0; k < part->size(); ++k) {
        EXPECT_EQ((*part)[k].name, (*all)[3 * k + options.shard - 1].name);
      }
    }
  }
  options.shard = 5;
  options.num_shards = 6;
  options.frames = std::vector<int64_t>{0, 1, 2};
  options.config_type = "";
  EXPECT_EQ(Predict(model, {kTio2}, options).status().message(), "shard 5/6 of 3 structures has none: make at most 3");
}

TEST(PredictInputsTest, RefusesWhatDoesNotFit) {
  const Potential model = SmallTiO2Potential(1);
  PredictOptions options;
  options.forces = false;
  options.frames = {403};
  EXPECT_THAT(Predict(model, {kTio2}, options).status().message(), HasSubstr("structure 403"));
  options.frames.reset();
  options.config_type = "none";
  EXPECT_THAT(Predict(model, {kTio2}, options).status().message(), HasSubstr("--config_type"));
  EXPECT_TRUE(absl::IsNotFound(Predict(model, {"none.xyz"}).status()));
}

// What is added to a prediction sees the geometry, whatever the kind of input, and is in the result.
TEST(PredictInputsTest, GeometryForWhatIsAdded) {
  const Potential model = SmallTiO2Potential(3);
  const std::string features = FeaturePath(model.descriptor);
  for (const int threads : {1, 2}) {
    for (const std::string& input : {std::string(kTio2), features}) {
      PredictOptions options;
      options.forces = false;
      options.num_threads = threads;
      options.frames = {1, 7, 402};
      options.on_geometry = [threads](int thread, int64_t number, const StructureGeometry& geometry,
                                      StructurePrediction* prediction) {
        EXPECT_LT(thread, threads);
        EXPECT_EQ(static_cast<int64_t>(geometry.species.size()), prediction->num_atoms);
        EXPECT_GT(geometry.pairs.num_pairs(), 0);
        prediction->energy_std = static_cast<double>(number);
        return absl::OkStatus();
      };
      const auto found = Predict(model, {input}, options);
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_EQ(found->size(), 3u);
      EXPECT_EQ((*found)[1].energy_std, 7);
      EXPECT_EQ((*found)[2].energy_std, 402);
      options.on_geometry = [](int, int64_t number, const StructureGeometry&, StructurePrediction*) {
        return number == 7 ? absl::InternalError("of 7") : absl::OkStatus();
      };
      EXPECT_EQ(Predict(model, {input}, options).status().message(), "of 7");
    }
  }
}

// Features do not hold the distances of a repulsion, which are found from positions.
TEST(PredictInputsTest, ARepulsionIsInEveryKindOfInput) {
  Potential model = SmallTiO2Potential(3);
  model.repulsion = {{1, 1, 1, 1}, {2.5, 2.5, 2.5, 2.5}};
  PredictOptions options;
  options.frames = {0, 100, 402};
  const auto expected = Predict(model, {kTio2}, options);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_GT((*expected)[0].predicted_energy,
            (*Predict(SmallTiO2Potential(3), {kTio2}, options))[0].predicted_energy + 1);
  const std::string features = FeaturePath(model.descriptor), neighbors = NeighborPath(4);
  for (const bool forces : {true, false}) {
    options.forces = forces;
    for (const std::vector<std::string>& inputs :
         std::vector<std::vector<std::string>>{{kTio2}, {features}, {neighbors}, {features, neighbors}}) {
      const auto predictions = Predict(model, inputs, options);
      ASSERT_TRUE(predictions.ok()) << predictions.status();
      for (size_t s = 0; s < expected->size(); ++s) {
        EXPECT_EQ((*predictions)[s].predicted_energy, (*expected)[s].predicted_energy) << inputs[0];
        if (!forces) continue;
        EXPECT_EQ((*predictions)[s].predicted_force, (*expected)[s].predicted_force) << inputs[0];
      }
    }
  }
}

}  // namespace
}  // namespace rutile
