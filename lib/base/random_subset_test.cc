#include "lib/base/random_subset.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace rutile {
namespace {

TEST(RandomSubsetTest, IsDistinctAscendingAndInRange) {
  for (const int64_t count : {0, 1, 7, 99, 100}) {
    const std::vector<int64_t> drawn = RandomSubset(100, count, RandomStream(3, "subset"));
    ASSERT_EQ(drawn.size(), count);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(drawn[i] >= 0 && drawn[i] < 100);
      if (i > 0) {
        EXPECT_LT(drawn[i - 1], drawn[i]);
      }
    }
  }
}

// Each number is drawn with the probability count / n, and so is each pair with that of pairs.
TEST(RandomSubsetTest, AllSetsAreAsLikely) {
  constexpr int64_t kAll = 7, kCount = 3, kTimes = 21000;
  std::vector<int64_t> times(kAll), pairs(kAll * kAll);
  for (int64_t b = 0; b < kTimes; ++b) {
    const std::vector<int64_t> drawn = RandomSubset(kAll, kCount, RandomStream(5, "subset", 0, b));
    for (const int64_t i : drawn) {
      ++times[i];
      for (const int64_t j : drawn) ++pairs[i * kAll + j];
    }
  }
  // Means 9000 and 3000; five standard deviations.
  for (const int64_t n : times) EXPECT_NEAR(n, 9000, 5 * std::sqrt(9000.0 * 4 / 7));
  for (int64_t i = 0; i < kAll; ++i) {
    for (int64_t j = 0; j < i; ++j) EXPECT_NEAR(pairs[i * kAll + j], 3000, 5 * std::sqrt(3000.0 * 6 / 7));
  }
}

TEST(RandomSubsetDeathTest, MoreThanAll) { EXPECT_DEATH(RandomSubset(5, 6, RandomStream(1, "subset")), "6 of 5"); }

}  // namespace
}  // namespace rutile
