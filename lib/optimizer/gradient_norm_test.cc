#include "lib/optimizer/gradient_norm.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/machine/simd.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Values(int64_t n) {
  RandomStream stream(1, "gradient");
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Normal()));
  return values;
}

// Products are rounded to the type, as in an optimizer. Lengths are below, at and above the number of parallel sums.
template <typename T>
void CheckSum() {
  for (const int64_t n : {0, 1, 7, 31, 32, 33, 1000}) {
    const std::vector<T> values = Values<T>(n);
    const double weight = 1.0 / 3;
    double expected = 0;
    for (const T value : values) {
      const double x = static_cast<T>(static_cast<T>(weight) * value);
      expected += x * x;
    }
    for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
      hwy::SetSupportedTargetsForTest(targets & -targets);
      EXPECT_NEAR(SumOfSquares(weight, Tensor::Of(values)), expected, 1e-14 * expected) << n;
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST(SumOfSquaresTest, MatchesTheFormulaF32) { CheckSum<float>(); }
TEST(SumOfSquaresTest, MatchesTheFormulaF64) { CheckSum<double>(); }

TEST(SumOfSquaresTest, AnyThreadsAddAlike) {
  const Tensor values = Tensor::Of(Values<float>(200003));
  ThreadPool pool(3);
  const double sum = SumOfSquares(0.7, values);
  EXPECT_NEAR(sum, 0.49 * 200003, 2000);
  EXPECT_EQ(SumOfSquares(0.7, values, &pool), sum);
}

// Squares of values in fp32 range are finite in fp64, so only a product with the weight can overflow; it is detected.
TEST(SumOfSquaresTest, FindsWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int at : {0, 20, 40}) {
    std::vector<float> values(41, 1e30f);
    EXPECT_TRUE(std::isfinite(SumOfSquares(1, Tensor::Of(values))));
    EXPECT_FALSE(std::isfinite(SumOfSquares(1e10, Tensor::Of(values))));
    for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
      values[at] = bad;
      EXPECT_FALSE(std::isfinite(SumOfSquares(1, Tensor::Of(values)))) << at;
    }
  }
}

}  // namespace
}  // namespace rutile
