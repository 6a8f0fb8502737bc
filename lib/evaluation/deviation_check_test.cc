#include "lib/evaluation/deviation_check.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::HasSubstr;

TEST(CalibrationTest, ByHand) {
  const DeviationCheck found = CheckDeviations({1, -2, 3, -4}, {2, 2, 1, 4});
  EXPECT_EQ(found.count, 4);
  EXPECT_DOUBLE_EQ(found.rmse, std::sqrt(30.0 / 4));
  EXPECT_DOUBLE_EQ(found.rms_deviation, 2.5);
  EXPECT_EQ(found.within_1, 0.75);  // an error that is equal counts
  EXPECT_EQ(found.within_2, 0.75);
  // |error| less 2.5: -1.5, -.5, .5, 1.5; deviation less 2.25: -.25, -.25, -1.25, 1.75.
  EXPECT_DOUBLE_EQ(found.correlation, 2.5 / std::sqrt(5 * 4.75));
  ASSERT_EQ(found.bins.size(), 4u);
  EXPECT_EQ(found.bins[0].deviation, 1);
  EXPECT_EQ(found.bins[0].error, 3);
  EXPECT_EQ(found.bins[1].error, 1) << "equal deviations stay in their order";
  EXPECT_EQ(found.bins[3].error, 4);
}

TEST(CalibrationTest, BinsHaveAllErrors) {
  std::vector<double> error, deviation;
  for (int k = 0; k < 25; ++k) {
    deviation.push_back((k * 7) % 25 + 1);
    error.push_back(2 * deviation.back());
  }
  const DeviationCheck found = CheckDeviations(error, deviation);
  ASSERT_EQ(found.bins.size(), 10u);
  for (size_t b = 0; b < found.bins.size(); ++b) {
    EXPECT_DOUBLE_EQ(found.bins[b].error, 2 * found.bins[b].deviation);
    EXPECT_TRUE(b == 0 || found.bins[b].deviation > found.bins[b - 1].deviation);
  }
  EXPECT_DOUBLE_EQ(found.correlation, 1);
  EXPECT_TRUE(std::isnan(CheckDeviations({1}, {2}).correlation));
}

TEST(CalibrationTest, OfPredictions) {
  StructurePrediction p;
  p.num_atoms = 2;
  p.reference_energy = -1;
  p.predicted_energy = -1.004;
  p.energy_std = 0.002;
  p.reference_force = {0, 0, 0, 0, 0, 0};
  p.predicted_force = {1, 2, 3, 4, 5, 6};
  p.force_spread = {std::sqrt(3.0), 2 * std::sqrt(3.0)};
  StructurePrediction bare;  // has no reference
  bare.num_atoms = 1;
  bare.reference_energy = std::numeric_limits<double>::quiet_NaN();
  bare.energy_std = 1;
  const std::vector<DeviationCheck> found = DeviationChecksOf({p, bare});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].quantity, "energy");
  EXPECT_EQ(found[0].measure, "uncertainty");
  EXPECT_EQ(found[0].count, 1);
  EXPECT_NEAR(found[0].rmse, 2, 1e-9);
  EXPECT_NEAR(found[0].rms_deviation, 1, 1e-12);
  EXPECT_EQ(found[1].quantity, "force");
  EXPECT_EQ(found[1].measure, "spread");
  EXPECT_EQ(found[1].count, 6);
  EXPECT_NEAR(found[1].rms_deviation, std::sqrt(2.5), 1e-12);
  EXPECT_THAT(DescribeDeviationCheck(found[0]),
              HasSubstr("energy: rmse 2 meV/atom, root mean square uncertainty 1; 0.0 % of 1 errors in 1 structures"));
  DeviationCheck alone = CheckDeviations({1.0, 3.0}, {2.0, 2.0});
  alone.quantity = "energy";
  EXPECT_THAT(DescribeDeviationCheck(alone), HasSubstr("50.0 % of 2 errors are within it"));
  EXPECT_TRUE(DeviationChecksOf({bare}).empty());
}

}  // namespace
}  // namespace rutile
