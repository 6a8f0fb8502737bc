#include "lib/potential/prediction/predict_data.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/interrupt.h"
#include "lib/descriptor/files/featurizer.h"
#include "lib/potential/model/potential_testing.h"
#include "lib/potential/prediction/predict_inputs.h"

namespace rutile {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr char kTio2[] = "data/tio2-pbe/tio2-pbe.extxyz";

AtomicData Read(const std::string& path, const DescriptorOptions& descriptor) {
  AtomicDataOptions options;
  options.descriptor = descriptor;
  auto data = AtomicData::Read({path}, options);
  EXPECT_TRUE(data.ok()) << data.status();
  return *std::move(data);
}

// Predictions come in the order asked for, with repetitions.
const std::vector<int64_t> kStructures = {400, 7, 7, 0};

TEST(PredictDataTest, SaysWhatEvaluateSays) {
  const Potential model = SmallTiO2Potential(3);
  const auto expected = PredictInputs(absl::MakeConstSpan(&model, 1), {kTio2}, {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  AtomicData data = Read(kTio2, model.descriptor);
  for (const bool cached : {false, true}) {
    if (cached) {
      ASSERT_TRUE(data.CacheNeighbors(false, "", 1 << 30, 2).ok());
    }
    for (const int threads : {1, 3}) {
      const auto predictions = PredictData(model, data, kStructures, /*forces=*/true, threads);
      ASSERT_TRUE(predictions.ok()) << predictions.status();
      ASSERT_EQ(predictions->size(), kStructures.size());
      for (size_t k = 0; k < kStructures.size(); ++k) {
        const StructurePrediction &a = (*predictions)[k], &b = (*expected)[kStructures[k]];
        EXPECT_EQ(a.name, b.name);
        EXPECT_EQ(a.config_type, b.config_type);
        EXPECT_EQ(a.composition, b.composition);
        EXPECT_EQ(a.num_atoms, b.num_atoms);
        EXPECT_EQ(a.reference_energy, b.reference_energy);
        EXPECT_EQ(a.predicted_energy, b.predicted_energy);
        EXPECT_THAT(a.element, ElementsAreArray(b.element));
        EXPECT_THAT(a.atom_energy, ElementsAreArray(b.atom_energy));
        EXPECT_THAT(a.reference_force, ElementsAreArray(b.reference_force));
        EXPECT_THAT(a.predicted_force, ElementsAreArray(b.predicted_force));
        EXPECT_EQ(a.reference_stress, b.reference_stress);
        EXPECT_EQ(a.predicted_stress, b.predicted_stress);
        EXPECT_EQ(a.atoms_outside, b.atoms_outside);
      }
    }
  }
}

TEST(PredictDataTest, FeaturesServeForEnergies) {
  const Potential model = SmallTiO2Potential(3);
  FeaturizeOptions featurize;
  featurize.descriptor = model.descriptor.chebyshev();
  const AtomicData structures = Read(kTio2, model.descriptor);
  for (const DType precision : {DType::kF32, DType::kF64}) {
    featurize.precision = precision;
    const std::string path = ::testing::TempDir() + "/features.safetensors";
    ASSERT_TRUE(Featurize({kTio2}, path, featurize, {}).ok());
    const AtomicData features = Read(path, model.descriptor);
    const auto a = PredictData(model, features, kStructures, /*forces=*/false, 2);
    const auto b = PredictData(model, structures, kStructures, /*forces=*/false, 2);
    ASSERT_TRUE(a.ok() && b.ok());
    for (size_t k = 0; k < kStructures.size(); ++k) {
      const double tolerance = precision == DType::kF64 ? 1e-10 : 1e-4;
      EXPECT_NEAR((*a)[k].predicted_energy, (*b)[k].predicted_energy, tolerance);
      EXPECT_THAT((*a)[k].predicted_force, IsEmpty());
      EXPECT_THAT((*b)[k].predicted_force, IsEmpty());
    }
  }
}

TEST(PredictDataTest, FeaturesDoNotServeForARepulsion) {
  Potential model = SmallTiO2Potential(3);
  model.repulsion = {{1, 1, 1, 1}, {2.5, 2.5, 2.5, 2.5}};
  FeaturizeOptions featurize;
  featurize.descriptor = model.descriptor.chebyshev();
  const std::string path = ::testing::TempDir() + "/features-repulsion.safetensors";
  ASSERT_TRUE(Featurize({kTio2}, path, featurize, {}).ok());
  const auto a = PredictData(model, Read(path, model.descriptor), kStructures, /*forces=*/false, 1);
  const auto b = PredictData(model, Read(kTio2, model.descriptor), kStructures, /*forces=*/false, 1);
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t k = 0; k < kStructures.size(); ++k) EXPECT_EQ((*a)[k].predicted_energy, (*b)[k].predicted_energy);
}

TEST(PredictDataTest, StopsAtASignal) {
  const Potential model = SmallTiO2Potential(3);
  const AtomicData data = Read(kTio2, model.descriptor);
  SetInterruptForTest(15);
  EXPECT_TRUE(absl::IsCancelled(PredictData(model, data, kStructures, true, 2).status()));
  SetInterruptForTest(0);
}

}  // namespace
}  // namespace rutile
