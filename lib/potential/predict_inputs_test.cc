#include "lib/potential/predict_inputs.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/descriptor/featurizer.h"
#include "lib/potential/network_init.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

Potential SmallPotential() {
  Potential p;
  p.descriptor.species = {22, 8};
  p.descriptor.rad_cutoff = 4;
  p.descriptor.ang_cutoff = 3;
  const int features = p.descriptor.num_features();
  p.shape = {2, features, {5}, Activation::kTanh};
  p.feature_scaling = {2, features, std::vector<double>(2 * features, 0.0), std::vector<double>(2 * features, 0.1)};
  p.atomic_energies = {-3, -2};
  p.parameters = Tensor::Of(InitialNetworkParameters(p.shape, 3));
  return p;
}

TEST(PredictInputsTest, FeaturesAndStructuresGiveTheSame) {
  const Potential potential = SmallPotential();
  FeaturizeOptions featurize;
  featurize.descriptor = potential.descriptor;
  featurize.precision = DType::kF64;
  const std::string features = ::testing::TempDir() + "/features.safetensors";
  ASSERT_TRUE(Featurize({kTio2}, features, featurize, {}).ok());

  PredictOptions options;
  const auto from_features = PredictInputs(potential, {features}, options);
  ASSERT_TRUE(from_features.ok()) << from_features.status();
  for (const int threads : {1, 2}) {
    options.num_threads = threads;
    const auto from_structures = PredictInputs(potential, {kTio2}, options);
    ASSERT_TRUE(from_structures.ok()) << from_structures.status();
    ASSERT_EQ(from_structures->size(), 403u);
    for (size_t s = 0; s < 403; ++s) {
      EXPECT_EQ((*from_structures)[s].predicted, (*from_features)[s].predicted);
      EXPECT_EQ((*from_structures)[s].reference, (*from_features)[s].reference);
      EXPECT_EQ((*from_structures)[s].config_type, (*from_features)[s].config_type);
      EXPECT_EQ((*from_structures)[s].name, (*from_features)[s].name);
    }
  }
  EXPECT_EQ((*from_features)[0].composition, "Ti2O4");

  // Frames are counted over all inputs.
  options.frames = {400, 403, 1};
  const auto chosen = PredictInputs(potential, {features, kTio2}, options);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  ASSERT_EQ(chosen->size(), 3u);
  EXPECT_EQ((*chosen)[0].name, (*from_features)[1].name);
  EXPECT_EQ((*chosen)[2].name, (*from_features)[0].name);
}

TEST(PredictInputsTest, ChoosesByConfigType) {
  PredictOptions options;
  options.config_type = "ru*";
  const auto chosen = PredictInputs(SmallPotential(), {kTio2}, options);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_GT(chosen->size(), 10u);
  for (const EnergyPrediction& p : *chosen) EXPECT_EQ(p.config_type, "rutile");
}

TEST(PredictInputsTest, RefusesWhatDoesNotFit) {
  const Potential potential = SmallPotential();
  FeaturizeOptions featurize;
  featurize.descriptor = potential.descriptor;
  featurize.descriptor.rad_cutoff = 4.5;
  const std::string features = ::testing::TempDir() + "/other.safetensors";
  ASSERT_TRUE(Featurize({kTio2}, features, featurize, {}).ok());
  EXPECT_THAT(PredictInputs(potential, {features}, {}).status().message(), HasSubstr("made with the descriptor"));
  PredictOptions options;
  options.frames = {403};
  EXPECT_THAT(PredictInputs(potential, {kTio2}, options).status().message(), HasSubstr("structure 403"));
  options.frames.reset();
  options.config_type = "none";
  EXPECT_THAT(PredictInputs(potential, {kTio2}, options).status().message(), HasSubstr("--config_type"));
}

}  // namespace
}  // namespace rutile
