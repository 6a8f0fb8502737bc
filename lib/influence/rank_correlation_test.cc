#include "lib/influence/rank_correlation.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AverageRanksTest, TiesShareTheMean) {
  EXPECT_THAT(AverageRanks({3.0, -1.0, 3.0, 7.0, 3.0}), ElementsAre(3, 1, 3, 5, 3));
  EXPECT_THAT(AverageRanks({}), IsEmpty());
}

TEST(CorrelationTest, ClosedForms) {
  EXPECT_DOUBLE_EQ(PearsonCorrelation({1.0, 2.0, 3.0}, {5.0, 7.0, 9.0}), 1);
  EXPECT_DOUBLE_EQ(PearsonCorrelation({1.0, 2.0, 3.0}, {1.0, 0.0, -1.0}), -1);
  // 1 - 6 sum d^2 / (n (n^2 - 1)) with d = (1, -1, 0, 0): 0.8.
  EXPECT_DOUBLE_EQ(SpearmanCorrelation({1.0, 2.0, 3.0, 4.0}, {20.0, 10.0, 30.0, 1000.0}), 0.8);
  // With ties (scipy.stats.spearmanr gives the same): ranks 1.5 1.5 3 4 against 1 2 3 4.
  EXPECT_NEAR(SpearmanCorrelation({1.0, 1.0, 3.0, 4.0}, {1.0, 2.0, 3.0, 4.0}), 4.5 / std::sqrt(4.5 * 5), 1e-15);
}

TEST(CorrelationTest, MonotoneMapsDoNotChangeSpearman) {
  std::vector<double> a, b;
  for (int i = 0; i < 50; ++i) {
    a.push_back(std::sin(7.0 * i));
    b.push_back(std::exp(3 * a.back()));
  }
  EXPECT_DOUBLE_EQ(SpearmanCorrelation(a, b), 1);
  EXPECT_LT(PearsonCorrelation(a, b), 0.95);
}

TEST(CorrelationTest, NothingVariesIsNaN) {
  EXPECT_TRUE(std::isnan(SpearmanCorrelation({1.0, 1.0}, {1.0, 2.0})));
  EXPECT_TRUE(std::isnan(SpearmanCorrelation({1.0}, {1.0})));
  EXPECT_TRUE(std::isnan(PearsonCorrelation({}, {})));
}

TEST(TopOverlapTest, CountsWhatBothList) {
  const std::vector<double> exact = {9, 8, 7, 1, 2}, approximate = {8, 9, 0, 5, 1};
  EXPECT_EQ(TopOverlap(exact, approximate, 2), 1);
  EXPECT_DOUBLE_EQ(TopOverlap(exact, approximate, 3), 2.0 / 3);
  EXPECT_EQ(TopOverlap(exact, approximate, 5), 1);
  EXPECT_EQ(TopOverlap(exact, approximate, 0), 1);
  // All tied: the lower index on both sides.
  EXPECT_EQ(TopOverlap({1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}, 1), 1);
}

TEST(RelativeErrorTest, IsOfNorms) {
  EXPECT_DOUBLE_EQ(RelativeError({3.0, 4.0}, {3.0, 4.5}), 0.1);
  EXPECT_EQ(RelativeError({0.0, 0.0}, {0.0, 0.0}), 0);
  EXPECT_EQ(RelativeError({0.0}, {1.0}), std::numeric_limits<double>::infinity());
}

TEST(RankCorrelationDeathTest, RefusesUnequalLengthsAndNaN) {
  EXPECT_DEATH(SpearmanCorrelation({1.0}, {1.0, 2.0}), "1 vs. 2");
  EXPECT_DEATH(AverageRanks({std::nan("")}), "isnan");
  EXPECT_DEATH(TopOverlap({1.0}, {1.0}, 2), "2 of 1");
}

}  // namespace
}  // namespace rutile
