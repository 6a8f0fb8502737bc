#include "lib/kg/f64_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/kg/matrix_testing.h"
#include "lib/kg/matrix_view.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

struct Size {
  int64_t m, k, n;
};

void CheckAgainstSums(const Size& size, int form) {
  const auto [m, k, n] = size;
  const bool add = form & 1;
  SCOPED_TRACE(absl::StrCat(m, " ", k, " ", n, " form ", form));
  const std::vector<double> left = Values<double>((m + 3) * (k + 3), "left"),
                            right = Values<double>((n + 3) * (k + 3), "right");
  const MatrixView<double> a = View(left, m, k, form & 2), b = View(right, k, n, form & 4);
  const int64_t stride = n + 2;
  std::vector<double> out(m * stride, 2.0);
  MultiplyF64(a, b, add, out.data(), stride);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = add ? 2 : 0, sizes = 2;
      for (int64_t l = 0; l < k; ++l) {
        const double term = Element(a, i, l) * Element(b, l, j);
        sum += term;
        sizes += std::abs(term);
      }
      ASSERT_NEAR(out[i * stride + j], sum, 2e-15 * sizes) << i << " " << j;
    }
    for (int64_t j = n; j < stride; ++j) ASSERT_EQ(out[i * stride + j], 2.0);
  }
}

// Below, at and above tiles, strips and depths, of every vector length.
TEST(F64ProductsTest, AgreesWithSums) {
  ForEachTarget([] {
    for (const Size& size : {Size{1, 1, 1}, Size{8, 2, 48}, Size{7, 3, 31}, Size{9, 5, 49}, Size{15, 6, 64},
                             Size{20, 256, 40}, Size{13, 515, 65}, Size{4, 9, 131}, Size{66, 4, 3}}) {
      for (int form = 0; form < 8; ++form) CheckAgainstSums(size, form);
    }
  });
}

// A product of parts has the bits of the whole: what lets threads share it.
TEST(F64ProductsTest, PartsAreTheWhole) {
  constexpr int64_t kM = 27, kK = 300, kN = 150;
  const std::vector<double> left = Values<double>((kM + 3) * (kK + 3), "left"),
                            right = Values<double>((kN + 3) * (kK + 3), "right");
  ForEachTarget([&] {
    for (int form = 0; form < 4; ++form) {
      const MatrixView<double> a = View(left, kM, kK, form & 1), b = View(right, kK, kN, form & 2);
      std::vector<double> whole(kM * kN), parts(kM * kN);
      MultiplyF64(a, b, false, whole.data(), kN);
      for (int64_t row = 0; row < kM; row += 10) {
        for (int64_t column = 0; column < kN; column += 37) {
          MultiplyF64(a.Rows(row, std::min(row + 10, kM)), b.Columns(column, std::min(column + 37, kN)), false,
                      parts.data() + row * kN + column, kN);
        }
      }
      EXPECT_EQ(parts, whole) << form;
    }
  });
}

// A zero does not hide what is no number.
TEST(F64ProductsTest, NaNAndInfinityStay) {
  ForEachTarget([] {
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const std::vector<double> a = {nan, 1, 0, 1, inf, 1}, b = {0, 1};  // [3, 2], [2, 1]
    std::vector<double> out(3);
    MultiplyF64({a.data(), 3, 2, 2}, {b.data(), 2, 1, 1}, false, out.data(), 1);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 1.0);
    EXPECT_TRUE(std::isnan(out[2]));
    const double two = 2;
    MultiplyF64({&inf, 1, 1, 1}, {&two, 1, 1, 1}, false, out.data(), 1);
    EXPECT_EQ(out[0], inf);
  });
}

TEST(F64ProductsTest, NothingToAddUp) {
  std::vector<double> out(4, 2.0);
  MultiplyF64({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, true, out.data(), 2);
  EXPECT_EQ(out[3], 2.0);
  MultiplyF64({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, false, out.data(), 2);
  EXPECT_EQ(out[3], 0.0);
}

TEST(F64ProductsDeathTest, SizesMustAgree) {
  std::vector<double> x(6);
  EXPECT_DEATH(MultiplyF64({x.data(), 2, 3, 3}, {x.data(), 2, 3, 3}, false, x.data(), 3), "3 vs. 2");
}

}  // namespace
}  // namespace rutile
