#include "lib/kge/training/scores/negative_samples.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(NegativeSamplesTest, AreDistinctAscendingAndInRange) {
  for (const int64_t count : {0, 1, 7, 99, 100}) {
    const std::vector<int32_t> drawn = DrawNegatives(3, 1, 2, 100, count);
    ASSERT_EQ(drawn.size(), count);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(drawn[i] >= 0 && drawn[i] < 100);
      if (i > 0) {
        EXPECT_LT(drawn[i - 1], drawn[i]);
      }
    }
  }
}

TEST(NegativeSamplesTest, DependOnSeedEpochAndBatchAlone) {
  const std::vector<int32_t> drawn = DrawNegatives(3, 1, 2, 1000, 50);
  EXPECT_EQ(drawn, DrawNegatives(3, 1, 2, 1000, 50));
  EXPECT_NE(drawn, DrawNegatives(4, 1, 2, 1000, 50));
  EXPECT_NE(drawn, DrawNegatives(3, 2, 2, 1000, 50));
  EXPECT_NE(drawn, DrawNegatives(3, 1, 3, 1000, 50));
}

TEST(NegativeSamplesTest, WeightsMakeASumOverAllEntities) {
  EXPECT_EQ(NegativeLogWeight(100, 100), 0);
  EXPECT_DOUBLE_EQ(std::exp(NegativeLogWeight(100, 4)), 25);
}

}  // namespace
}  // namespace rutile
