#include "lib/potential/model/labels/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/potential/model/golden_potential_testing.h"

namespace rutile {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

FeatureScaling Scale(FeatureScalingKind kind, int num_species, const std::vector<uint8_t>& species,
                     const std::vector<std::vector<double>>& rows) {
  FeatureStatistics statistics(kind, num_species, static_cast<int>(rows[0].size()));
  for (size_t i = 0; i < rows.size(); ++i) statistics.Add(species[i], rows[i]);
  return statistics.Result();
}

TEST(FeatureStatisticsTest, PooledAndPerSpecies) {
  const std::vector<std::vector<double>> rows = {{1, 5}, {3, 7}, {10, 1}, {14, 1}};
  const FeatureScaling pooled = Scale(FeatureScalingKind::kPooled, 2, {0, 0, 1, 1}, rows);
  EXPECT_THAT(pooled.mean, ElementsAre(7, 3.5, 7, 3.5));
  EXPECT_NEAR(pooled.scale[0], 1 / std::sqrt((36 + 16 + 9 + 49) / 4.0), 1e-12);
  EXPECT_EQ(pooled.scale[0], pooled.scale[2]);
  EXPECT_THAT(pooled.ConstantFeatures(1), IsEmpty());

  const FeatureScaling by_species = Scale(FeatureScalingKind::kPerSpecies, 2, {0, 0, 1, 1}, rows);
  EXPECT_THAT(by_species.mean, ElementsAre(2, 6, 12, 1));
  EXPECT_THAT(by_species.scale, ElementsAre(DoubleNear(1, 1e-12), DoubleNear(1, 1e-12), DoubleNear(0.5, 1e-12), 0));
  EXPECT_THAT(by_species.ConstantFeatures(0), IsEmpty());
  EXPECT_THAT(by_species.ConstantFeatures(1), ElementsAre(1));

  const FeatureScaling none = Scale(FeatureScalingKind::kNone, 2, {0, 0, 1, 1}, rows);
  EXPECT_THAT(none.mean, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(none.scale, ElementsAre(1, 1, 1, 1));
}

TEST(FeatureStatisticsTest, ASpeciesWithoutAtomsIsSwitchedOff) {
  const FeatureScaling scaling = Scale(FeatureScalingKind::kPerSpecies, 2, {0, 0}, {{1}, {2}});
  EXPECT_GT(scaling.scale[0], 0);
  EXPECT_EQ(scaling.scale[1], 0);
}

// A spread of 1e-10 of the size counts as constant, 1e-6 does not.
TEST(FeatureStatisticsTest, RoundingIsNoSpread) {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 100; ++i) rows.push_back({1000 * (1 + 1e-10 * (i % 2)), 1000 * (1 + 1e-6 * (i % 2)), 0});
  const FeatureScaling scaling = Scale(FeatureScalingKind::kPooled, 1, std::vector<uint8_t>(100, 0), rows);
  EXPECT_THAT(scaling.ConstantFeatures(0), ElementsAre(0, 2));
  // Without the shift, E[x^2] - mean^2 = 1e6 - 1e6 would leave 1e-10 of noise on 2.5e-7.
  EXPECT_NEAR(1 / scaling.scale[1], 5e-4, 1e-8);
}

// For floats, a spread of a few units in the last place is rounding, as is 1e-6 about 0; 1e-5 is not.
TEST(FeatureStatisticsTest, RoundingOfFloatsIsNoSpread) {
  FeatureStatistics statistics(FeatureScalingKind::kPooled, 1, 4);
  for (int i = 0; i < 100; ++i) {
    const auto odd = static_cast<float>(i % 2);
    const float row[] = {16 + 2e-6f * odd, 16 + 3.2e-4f * odd, 1e-3f + 1e-6f * odd, 1e-3f + 1e-5f * odd};
    statistics.Add(0, absl::MakeConstSpan(row));
  }
  EXPECT_THAT(statistics.Result().ConstantFeatures(0), ElementsAre(0, 2));
  EXPECT_NEAR(statistics.Result().Magnification(), 1e5, 2e3);  // of the second feature: 16 / 1.6e-4
}

TEST(FeatureStatisticsTest, SinglePrecisionAddsInDouble) {
  FeatureStatistics statistics(FeatureScalingKind::kPooled, 1, 1);
  for (int i = 0; i < 200000; ++i) {
    const float x = 100.0f + static_cast<float>(i % 5);
    statistics.Add(0, absl::MakeConstSpan(&x, 1));
  }
  EXPECT_NEAR(statistics.Result().mean[0], 102, 1e-12);
  EXPECT_NEAR(statistics.Result().scale[0], 1 / std::sqrt(2.0), 1e-11);
}

// Ranges are per species even where the scaling is not; a species without training atoms has an empty range.
TEST(FeatureStatisticsTest, RangesAreOfEachSpecies) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> rows = {{1, 5}, {-3, 7}, {10, 1}, {14, 1}};
  for (const FeatureScalingKind kind :
       {FeatureScalingKind::kNone, FeatureScalingKind::kPooled, FeatureScalingKind::kPerSpecies}) {
    FeatureStatistics statistics(kind, 3, 2);
    EXPECT_THAT(statistics.Range().min, Each(kInfinity));
    EXPECT_THAT(statistics.Range().max, Each(-kInfinity));
    for (int i = 0; i < 4; ++i) statistics.Add(i < 2 ? 0 : 1, rows[i]);
    EXPECT_THAT(statistics.Range().min, ElementsAre(-3, 5, 10, 1, kInfinity, kInfinity));
    EXPECT_THAT(statistics.Range().max, ElementsAre(1, 7, 14, 1, -kInfinity, -kInfinity));
  }
}

TEST(FeatureStatisticsTest, RangesOfSinglePrecisionAreExactAndPassOverNaN) {
  FeatureStatistics statistics(FeatureScalingKind::kPooled, 1, 1);
  for (const float x : {0.3f, std::numeric_limits<float>::quiet_NaN(), 0.1f}) {
    statistics.Add(0, absl::MakeConstSpan(&x, 1));
  }
  EXPECT_EQ(statistics.Range().min[0], double{0.1f});
  EXPECT_EQ(statistics.Range().max[0], double{0.3f});
}

// An atom of weight 0 changes no bit, even if it is the first, which features are shifted by, or NaN; weight 2 is the
// atom twice.
TEST(FeatureStatisticsTest, WeightsAreNumbersOfAtoms) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> rows = {{1.1, 5}, {3.3, 7}, {10.7, 1.9}, {14, 1}};
  for (const FeatureScalingKind kind : {FeatureScalingKind::kPooled, FeatureScalingKind::kPerSpecies}) {
    FeatureStatistics plain(kind, 2, 2), without(kind, 2, 2), twice(kind, 2, 2), weighted(kind, 2, 2);
    for (const int species : {0, 1}) without.Add(species, std::vector<double>{-1e9, 1e9}, 0);
    for (int i = 0; i < 4; ++i) {
      const int species = i / 2;
      plain.Add(species, rows[i]);
      without.Add(species, rows[i], 1);
      without.Add(species, std::vector<double>{nan, 3}, 0);
      twice.Add(species, rows[i]);
      if (i != 1) twice.Add(species, rows[i]);
      weighted.Add(species, rows[i], i == 1 ? 0.5 : 1);
    }
    EXPECT_EQ(without.Result().mean, plain.Result().mean);
    EXPECT_EQ(without.Result().scale, plain.Result().scale);
    EXPECT_EQ(without.Range().min, plain.Range().min);
    EXPECT_EQ(without.Range().max, plain.Range().max);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(weighted.Result().mean[i], twice.Result().mean[i], 1e-13);
      EXPECT_NEAR(weighted.Result().scale[i], twice.Result().scale[i], 1e-12);
    }
    EXPECT_GT(std::abs(weighted.Result().mean[0] - plain.Result().mean[0]), 0.01);
  }
}

TEST(ScaleEnergiesTest, MapsToMinusOneToOne) {
  const EnergyScaling scaling = ScaleEnergies({-5.0, -3.0, -4.5}, 5);
  EXPECT_EQ(scaling.scale, 1);
  EXPECT_EQ(scaling.shift, -4);
  const EnergyScaling equal = ScaleEnergies({-5.0, -5.0}, 5);
  EXPECT_EQ(equal.scale, 1);
  EXPECT_EQ(equal.shift, -5);
  EXPECT_EQ(ScaleEnergies({}, 0).scale, 1);
}

// Differences of rounding are not scaled up to [-1, 1], as networks would have to learn forces of 1e-14.
TEST(ScaleEnergiesTest, EqualButForRounding) {
  const EnergyScaling rounding = ScaleEnergies({0, 1e-15, -4.7e-15}, 8);
  EXPECT_EQ(rounding.scale, 1);
  EXPECT_NEAR(rounding.shift, 0, 5e-15);
  EXPECT_FALSE(EnergiesAreEqual({-8, -8 + 2e-8}, 8));
  EXPECT_NEAR(ScaleEnergies({-8, -8 + 2e-8}, 8).scale, 1e8, 10);  // 8 and 2e-8 leave eight digits
  // All-electron energies have fewer digits; small energies are compared with 1 eV.
  EXPECT_TRUE(EnergiesAreEqual({0, 2e-8}, 1e5));
  EXPECT_TRUE(EnergiesAreEqual({0, 0.9e-9}, 1e-3));
  EXPECT_FALSE(EnergiesAreEqual({0, 1.1e-9}, 1e-3));
}

// Atomic energies fit exactly if there are as many structures as compositions, or only multiples of one structure, with
// or without weights.
TEST(ScaleEnergiesTest, ExactFitsLeaveEqualEnergies) {
  struct Data {
    std::vector<double> energies;
    std::vector<int64_t> counts;  // [structures, 2 species]
    std::vector<double> weights;
  };
  const double cell = -26.123456789;
  for (const Data& data :
       {Data{{-26.1, -40.7}, {1, 2, 2, 3}, {}}, Data{{-26.1, -40.7}, {1, 2, 2, 3}, {1e-3, 7}},
        Data{{-81234.5, -81235.9}, {500, 1000, 500, 999}, {}},  // nearly one composition
        Data{{cell, 2 * cell, 3 * cell, 27 * cell}, {1, 2, 2, 4, 3, 6, 27, 54}, {}},
        Data{{cell, 2 * cell, 3 * cell, 27 * cell}, {1, 2, 2, 4, 3, 6, 27, 54}, {0.1, 3, 1, 1e-6}}}) {
    const std::vector<double> fitted = FitAtomicEnergies(data.energies, data.counts, 2, data.weights);
    std::vector<double> targets;
    double size = 0;
    for (size_t s = 0; s < data.energies.size(); ++s) {
      const auto titanium = static_cast<double>(data.counts[2 * s]),
                 oxygen = static_cast<double>(data.counts[2 * s + 1]);
      targets.push_back((data.energies[s] - titanium * fitted[0] - oxygen * fitted[1]) / (titanium + oxygen));
      size = std::max(size, std::abs(data.energies[s]) / (titanium + oxygen));
    }
    EXPECT_EQ(ScaleEnergies(targets, size).scale, 1) << data.energies[0];
  }
}

TEST(ScaleEnergiesTest, MatchesTheGoldenTraining) {
  const GoldenTraining golden = ReadGoldenTraining();
  std::vector<double> targets;
  double size = 0;
  for (const Structure& s : golden.structures) {
    double energy = *s.energy;
    size = std::max(size, std::abs(energy) / static_cast<double>(s.size()));
    for (const uint8_t species : SpeciesIndices(s, golden.descriptor.species)) {
      energy -= golden.atomic_energies[species];
    }
    targets.push_back(energy / static_cast<double>(s.size()));
  }
  const EnergyScaling scaling = ScaleEnergies(targets, size);
  EXPECT_NEAR(scaling.scale, golden.energy_scaling, 1e-12);
  EXPECT_NEAR(scaling.shift, golden.energy_shift, 1e-12);
}

TEST(FitAtomicEnergiesTest, FindsTheEnergiesThatMadeTheData) {
  const std::vector<double> truth = {-1604.6, -432.5, -13.6};
  std::vector<double> energies;
  std::vector<int64_t> counts;
  RandomStream random(1, "fit");
  for (int s = 0; s < 40; ++s) {
    double energy = 0;
    for (int k = 0; k < 3; ++k) {
      counts.push_back(1 + random.Below(30));
      energy += truth[k] * static_cast<double>(counts.back());
    }
    energies.push_back(energy);
  }
  const std::vector<double> fit = FitAtomicEnergies(energies, counts, 3);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(fit[k], truth[k], 1e-9);
}

// Every structure is a multiple of TiO2, so that the energy of TiO2 is determined, but not those of Ti and O.
TEST(FitAtomicEnergiesTest, CollinearCompositionsGiveTheLeastNorm) {
  const std::vector<double> fit = FitAtomicEnergies({-80, -160, -239.4}, {2, 4, 4, 8, 6, 12}, 2);
  EXPECT_NEAR(fit[1], 2 * fit[0], 1e-9);             // along (1, 2)
  EXPECT_NEAR(fit[0] + 2 * fit[1], -39.967, 0.001);  // mean of -40, -40 and -39.9 per formula
}

TEST(FitAtomicEnergiesTest, SpeciesThatDoNotOccurStayZero) {
  const std::vector<double> fit = FitAtomicEnergies({-4, -8, -13}, {1, 0, 0, 2, 0, 0, 3, 0, 0}, 3);
  EXPECT_NEAR(fit[0], -(4 + 4 + 13 / 3.0) / 3, 1e-12);
  EXPECT_EQ(fit[1], 0);
  EXPECT_EQ(fit[2], 0);
}

// The fit is to energies per atom, so that a large cell counts as much as a small one.
TEST(FitAtomicEnergiesTest, LargeCellsCountAsSmallOnes) {
  EXPECT_THAT(FitAtomicEnergies({-4, -600}, {1, 100}, 1), ElementsAre(DoubleNear(-5, 1e-12)));
}

TEST(FitAtomicEnergiesTest, WeightsAreNumbersOfStructures) {
  const std::vector<double> energies = {-80.3, -161, -33, -7};
  const std::vector<int64_t> counts = {2, 4, 4, 9, 3, 1, 1, 0};
  const std::vector<double> plain = FitAtomicEnergies(energies, counts, 2);
  EXPECT_EQ(FitAtomicEnergies(energies, counts, 2, {1, 1, 1, 1}), plain);  // to the bit
  const std::vector<double> twice = FitAtomicEnergies({-80.3, -161, -161, -33, -7}, {2, 4, 4, 9, 4, 9, 3, 1, 1, 0}, 2);
  const std::vector<double> weighted = FitAtomicEnergies(energies, counts, 2, {1, 2, 1, 1});
  EXPECT_THAT(weighted, ElementsAre(DoubleNear(twice[0], 1e-12), DoubleNear(twice[1], 1e-12)));
  EXPECT_GT(std::abs(weighted[0] - plain[0]), 1e-3);
  // A structure of weight 0 has no influence, whatever its energy.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(FitAtomicEnergies({nan, -80.3, -161, -33, -7, 1e300}, {1, 1, 2, 4, 4, 9, 3, 1, 1, 0, 5, 5}, 2,
                              {0, 1, 1, 1, 1, 0}),
            plain);
}

}  // namespace
}  // namespace rutile
