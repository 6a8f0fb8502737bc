#include "lib/kg/bf16_products.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/kg/matrix_testing.h"
#include "lib/kg/matrix_view.h"

namespace rutile {
namespace {

// 8 bits of mantissa.
float Rounded(float x) {
  int exponent;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(fraction * 256), exponent - 8);
}

// Below, at and above tiles, panels and depths.
TEST(Bf16ProductsTest, AgreesWithSumsOfRoundedFactors) {
  const int64_t sizes[][3] = {{1, 1, 1}, {8, 2, 32}, {7, 3, 31}, {9, 5, 33}, {20, 256, 40}, {13, 515, 65}, {530, 9, 3}};
  for (const auto& [m, k, n] : sizes) {
    for (int form = 0; form < 16; ++form) {
      const bool fast = form & 1, add = form & 2;
      SCOPED_TRACE(absl::StrCat(m, " ", k, " ", n, " form ", form));
      const std::vector<float> left = Values((m + 3) * (k + 3), "left"), right = Values((n + 3) * (k + 3), "right");
      const MatrixView<float> a = View(left, m, k, form & 4), b = View(right, k, n, form & 8);
      const int64_t stride = n + 2;
      std::vector<float> out(m * stride, 2.0f);
      Bf16Products(fast).Multiply(a, b, add, out.data(), stride);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = add ? 2 : 0, sizes_sum = 2;
          for (int64_t l = 0; l < k; ++l) {
            const double term = double{Rounded(Element(a, i, l))} * Rounded(Element(b, l, j));
            sum += term;
            sizes_sum += std::abs(term);
          }
          ASSERT_NEAR(out[i * stride + j], sum, 1e-6 * sizes_sum);
        }
        for (int64_t j = n; j < stride; ++j) ASSERT_EQ(out[i * stride + j], 2.0f);
      }
    }
  }
}

TEST(Bf16ProductsTest, TiesGoToEvenAndNaNStays) {
  for (const bool fast : {false, true}) {
    const float one = 1, eps = 1.0f / 256;
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    uint32_t lowest_nan = 0x7f800001;
    float other_nan;
    std::memcpy(&other_nan, &lowest_nan, sizeof(other_nan));
    const std::vector<float> a = {one + eps, one + 3 * eps, -(one + eps), nan, other_nan, inf};
    std::vector<float> out(6);
    Bf16Products(fast).Multiply({a.data(), 6, 1, 1}, {&one, 1, 1, 1}, false, out.data(), 1);
    EXPECT_EQ(out[0], 1.0f);
    EXPECT_EQ(out[1], 1.0f + 4 * eps);
    EXPECT_EQ(out[2], -1.0f);
    EXPECT_TRUE(std::isnan(out[3]));
    EXPECT_TRUE(std::isnan(out[4]));
    EXPECT_EQ(out[5], inf);
  }
}

TEST(Bf16ProductsTest, NothingToAddUp) {
  std::vector<float> out(4, 2.0f);
  Bf16Products products;
  products.Multiply({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, true, out.data(), 2);
  EXPECT_EQ(out[3], 2.0f);
  products.Multiply({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, false, out.data(), 2);
  EXPECT_EQ(out[3], 0.0f);
}

TEST(Bf16ProductsDeathTest, SizesMustAgree) {
  std::vector<float> x(6);
  EXPECT_DEATH(Bf16Products().Multiply({x.data(), 2, 3, 3}, {x.data(), 2, 3, 3}, false, x.data(), 3), "3 vs. 2");
}

}  // namespace
}  // namespace rutile
