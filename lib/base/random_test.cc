#include "lib/base/random.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rutile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RandomStreamTest, TheKeyIsAllThatCounts) {
  RandomStream a(1, "shuffle", 2, 3), b(1, "shuffle", 2, 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Next(), b.Next());
}

TEST(RandomStreamTest, EveryPartOfTheKeyCounts) {
  std::set<uint64_t> first;
  int count = 0;
  for (const uint64_t seed : {0, 1, 2}) {
    for (const char* const purpose : {"", "a", "b", "ab", "ba"}) {
      for (const uint64_t epoch : {0, 1, 2}) {
        for (const uint64_t index : {0, 1, 2}) {
          first.insert(RandomStream(seed, purpose, epoch, index).Next());
          ++count;
        }
      }
    }
  }
  EXPECT_EQ(static_cast<int>(first.size()), count);
}

// Files and checkpoints depend on these numbers: they are the same on every machine and in every version. A few lines
// of Python after the paper's pseudocode gave them too.
TEST(RandomStreamTest, NumbersThatMustNotChange) {
  RandomStream stream(7, "test");
  EXPECT_THAT((std::vector<uint64_t>{stream.Next(), stream.Next(), stream.Next()}),
              ElementsAre(12004998134434285103u, 14486261749103919764u, 4349621863080868630u));
}

TEST(RandomStreamTest, UniformHasItsMoments) {
  RandomStream stream(1, "uniform");
  const int n = 200000;
  double sum = 0, sum_squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = stream.Uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
    sum_squares += x * x;
  }
  // Five standard deviations of the means: sqrt(1/12 / n) and sqrt(4/45 / n).
  EXPECT_NEAR(sum / n, 1.0 / 2, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(sum_squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
  for (int i = 0; i < 1000; ++i) {
    const double x = stream.Uniform(-2, 3);
    EXPECT_TRUE(x >= -2 && x < 3) << x;
  }
}

TEST(RandomStreamTest, NormalHasItsMoments) {
  RandomStream stream(1, "normal");
  const int n = 200000;
  double sums[5] = {};
  for (int i = 0; i < n; ++i) {
    const double x = stream.Normal();
    ASSERT_TRUE(std::isfinite(x));
    for (int k = 1; k <= 4; ++k) sums[k] += std::pow(x, k);
  }
  EXPECT_NEAR(sums[1] / n, 0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(sums[2] / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(sums[3] / n, 0, 5 * std::sqrt(15.0 / n));
  EXPECT_NEAR(sums[4] / n, 3, 5 * std::sqrt(96.0 / n));
}

TEST(RandomStreamTest, BelowIsFair) {
  RandomStream stream(1, "below");
  const int n = 70000;
  std::vector<int> counts(7);
  for (int i = 0; i < n; ++i) ++counts[stream.Below(7)];
  for (const int count : counts) EXPECT_NEAR(count, n / 7, 5 * std::sqrt(n / 7.0));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(stream.Below(1), 0u);
  const uint64_t large = UINT64_MAX / 2 + 2;  // where a plain remainder would favor small results by half
  int low = 0;
  for (int i = 0; i < 10000; ++i) low += stream.Below(large) < large / 2;
  EXPECT_NEAR(low, 5000, 250);
  EXPECT_DEATH(stream.Below(0), "");
}

TEST(RandomPermutationTest, HoldsEachIndexOnce) {
  EXPECT_THAT(RandomPermutation(0, RandomStream(1, "p")), IsEmpty());
  EXPECT_THAT(RandomPermutation(1, RandomStream(1, "p")), ElementsAre(0));
  std::vector<int64_t> order = RandomPermutation(1000, RandomStream(1, "p"));
  EXPECT_EQ(order, RandomPermutation(1000, RandomStream(1, "p")));
  EXPECT_NE(order, RandomPermutation(1000, RandomStream(2, "p")));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

TEST(RandomPermutationTest, AllOrdersAreAsLikely) {
  std::vector<int> counts(27);
  const int n = 60000;
  for (int i = 0; i < n; ++i) {
    const std::vector<int64_t> order = RandomPermutation(3, RandomStream(1, "orders", 0, i));
    ++counts[9 * order[0] + 3 * order[1] + order[2]];
  }
  int seen = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    ++seen;
    EXPECT_NEAR(count, n / 6, 5 * std::sqrt(n / 6.0));
  }
  EXPECT_EQ(seen, 6);
}

}  // namespace
}  // namespace rutile
