#include "lib/matrix/row_dot.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

template <typename T>
void ExpectSums(double tolerance) {
  RandomStream random(1, "row_dot");
  // Lengths below, at and above whole vectors of any machine, and of four of them.
  for (const int64_t n : {0, 1, 3, 8, 15, 16, 17, 31, 63, 64, 65, 200, 754}) {
    std::vector<T> a(n), b(n);
    double expected = 0, size = 0;
    for (int64_t i = 0; i < n; ++i) {
      a[i] = static_cast<T>(random.Uniform() - 0.5);
      b[i] = static_cast<T>(random.Uniform() - 0.5);
      expected += static_cast<double>(a[i]) * static_cast<double>(b[i]);
      size += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
    }
    EXPECT_NEAR(RowDot(a.data(), b.data(), n), expected, tolerance * size) << n;
  }
}

TEST(RowDotTest, SumsProducts) {
  ForEachTarget([] {
    ExpectSums<float>(3e-7);
    ExpectSums<double>(1e-15);
  });
}

TEST(RowDotTest, NanIsKept) {
  const std::vector<float> a = {1, std::nanf(""), 2}, b = {1, 0, 1};
  EXPECT_TRUE(std::isnan(RowDot(a.data(), b.data(), 3)));
}

}  // namespace
}  // namespace rutile
