#include "lib/influence/score_kernel.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

std::vector<double> Random(int64_t n, uint64_t which) {
  RandomStream stream(5, "score kernel", which, static_cast<uint64_t>(n));
  std::vector<double> values(n);
  for (double& value : values) value = stream.Uniform(-1, 1);
  return values;
}

// Sizes are below, at and above whole vectors.
constexpr int64_t kSizes[] = {0, 1, 3, 4, 7, 8, 9, 100, 256};

TEST(ScoreKernelTest, SumsHaveTheBitsOfPlainLoops) {
  ForEachTarget([] {
    for (const int64_t n : kSizes) {
      const std::vector<double> product = Random(n, 1), train = Random(n, 2), test = Random(n, 3);
      for (const bool first : {true, false}) {
        std::vector<double> sum = Random(n, 4), expected = sum;
        AddScaled(first, product.data(), 0.3, n, sum.data());
        for (int64_t i = 0; i < n; ++i) {
          const double value = 0.3 * product[i];
          expected[i] = first ? value : expected[i] + value;
        }
        EXPECT_EQ(sum, expected);
        AddScaled(first, product.data(), train.data(), test.data(), n, sum.data());
        for (int64_t i = 0; i < n; ++i) {
          const double value = train[i] * (product[i] * test[i]);
          expected[i] = first ? value : expected[i] + value;
        }
        EXPECT_EQ(sum, expected);
      }
    }
  });
}

TEST(ScoreKernelTest, OneOutsideIsSeenWhereverItLies) {
  ForEachTarget([] {
    for (const int64_t n : kSizes) {
      const std::vector<double> low(n, -0.5), high(n, 0.5);
      std::vector<double> score(n, 0.1);
      EXPECT_FALSE(AnyOutside(score.data(), low.data(), high.data(), n));
      for (int64_t i = 0; i < n; ++i) {
        for (const double bad : {-0.5, 0.5, 2.0, -2.0, std::nan(""), double{INFINITY}, -double{INFINITY}}) {
          score[i] = bad;
          EXPECT_TRUE(AnyOutside(score.data(), low.data(), high.data(), n)) << bad << " at " << i << " of " << n;
        }
        score[i] = -0.49;
      }
    }
  });
}

}  // namespace
}  // namespace rutile
