#include "lib/potential/model/labels/moment_scaling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// Two species, two radial functions, degrees 0 and 1: features (s, n, component) with 4 components.
MomentOptions SmallOptions() {
  MomentOptions options;
  options.species = {22, 8};
  options.num_radial = 2;
  options.max_l = 1;
  return options;
}

TEST(MomentScalingTest, OneScaleForEachDegreeAndNoMean) {
  const MomentOptions options = SmallOptions();
  const int f = options.num_features();
  ASSERT_EQ(f, 16);
  FeatureStatistics statistics(FeatureScalingKind::kPerSpecies, 2, f);
  // Species 0 has neighbors of both species, species 1 none of its own.
  const std::vector<std::vector<double>> atoms = {{3, 1, 0, 0, 1, 0, 2, 0, 2, 0, 0, 1, 1, 1, 1, 1},
                                                  {2, 0, 1, 0, 1, 2, 0, 0, 2, 1, 0, 0, 2, 0, 0, 1}};
  for (const std::vector<double>& atom : atoms) statistics.Add(0, absl::MakeConstSpan(atom));
  std::vector<double> other = atoms[0];
  for (int k = 8; k < 16; ++k) other[k] = 0;
  statistics.Add(1, absl::MakeConstSpan(other));
  FeatureScaling scaling = statistics.Result();
  FeatureRange range = statistics.Range();
  ScaleMoments(options, FeatureScalingKind::kPerSpecies, &scaling, &range);
  double density = 0, vectors = 0;
  for (const std::vector<double>& atom : atoms) {
    for (int k = 0; k < f; ++k) (k % 4 == 0 ? density : vectors) += atom[k] * atom[k];
  }
  for (int k = 0; k < f; ++k) {
    EXPECT_EQ(scaling.mean[k], 0);
    const double mean_square = k % 4 == 0 ? density / 8 : vectors / 24;
    const int n = k / 4 % 2 + 1;
    EXPECT_NEAR(scaling.scale[k], 1 / (n * std::sqrt(mean_square)), 1e-9) << k;
  }
  EXPECT_FALSE(IsUnseenPair(options, scaling, 0, 0));
  EXPECT_FALSE(IsUnseenPair(options, scaling, 0, 1));
  EXPECT_FALSE(IsUnseenPair(options, scaling, 1, 0));
  EXPECT_TRUE(IsUnseenPair(options, scaling, 1, 1));
  for (int k = 8; k < 16; ++k) EXPECT_EQ(scaling.scale[f + k], 0) << k;
  EXPECT_EQ(range.min[0], 2);
  EXPECT_EQ(range.max[0], 3);
  EXPECT_EQ(range.max[1], std::numeric_limits<double>::infinity());
}

// Vectors of one species around one atom have the given size, densities are 3 and 2.
void Scale(double vector, FeatureScaling* scaling, FeatureRange* range) {
  MomentOptions options = SmallOptions();
  options.species = {22};
  FeatureStatistics statistics(FeatureScalingKind::kPerSpecies, 1, options.num_features());
  statistics.Add(0, absl::MakeConstSpan(std::vector<double>{3, vector, 0, 0, 2, 0, -vector, 0}));
  statistics.Add(0, absl::MakeConstSpan(std::vector<double>{3, 0, vector, 0, 2, 0, 0, vector}));
  *scaling = statistics.Result();
  *range = statistics.Range();
  ScaleMoments(options, FeatureScalingKind::kPerSpecies, scaling, range);
}

TEST(MomentScalingTest, RoundingIsNoMoment) {
  MomentOptions options = SmallOptions();
  options.species = {22};
  const double density = std::sqrt(6.5);
  FeatureScaling scaling;
  FeatureRange range;
  Scale(1e-7, &scaling, &range);
  EXPECT_EQ(scaling.scale[1], 0);
  EXPECT_EQ(scaling.scale[7], 0);
  EXPECT_NEAR(scaling.scale[0], 1 / density, 1e-12);
  EXPECT_NEAR(range.max[1], 1e-3 * density, 1e-12);
  EXPECT_NEAR(range.min[6], -1e-3 * density, 1e-12);
  EXPECT_EQ(VanishingDegrees(options, scaling, 0), std::vector<int>({1}));
  Scale(0, &scaling, &range);
  EXPECT_EQ(scaling.scale[1], 0);
}

TEST(MomentScalingTest, SmallMomentsAreScaledByAShareOfTheDensities) {
  MomentOptions options = SmallOptions();
  options.species = {22};
  const double density = std::sqrt(6.5);
  FeatureScaling scaling;
  FeatureRange range;
  Scale(1e-3, &scaling, &range);
  EXPECT_NEAR(scaling.scale[1], 100 / density, 1e-10);
  EXPECT_NEAR(scaling.scale[5], 50 / density, 1e-10);
  EXPECT_NEAR(range.max[1], 0.03 * density, 1e-12);
  EXPECT_TRUE(VanishingDegrees(options, scaling, 0).empty());
  Scale(0.6, &scaling, &range);
  EXPECT_NEAR(scaling.scale[1], std::sqrt(3) / 0.6, 1e-9);
  EXPECT_EQ(range.max[1], std::numeric_limits<double>::infinity());
}

TEST(MomentScalingTest, WithoutScalingOnlyUnseenPairsAreLeftOut) {
  const MomentOptions options = SmallOptions();
  FeatureStatistics statistics(FeatureScalingKind::kNone, 2, options.num_features());
  statistics.Add(0, absl::MakeConstSpan(std::vector<double>{3, 1, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  FeatureScaling scaling = statistics.Result();
  FeatureRange range = statistics.Range();
  ScaleMoments(options, FeatureScalingKind::kNone, &scaling, &range);
  for (int k = 0; k < 8; ++k) EXPECT_EQ(scaling.scale[k], 1) << k;
  for (int k = 8; k < 32; ++k) EXPECT_EQ(scaling.scale[k], 0) << k;
}

}  // namespace
}  // namespace rutile
