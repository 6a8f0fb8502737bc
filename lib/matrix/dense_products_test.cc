#include "lib/matrix/dense_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/matrix/matrix_testing.h"
#include "lib/matrix/matrix_view.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

struct Size {
  int64_t m, k, n;
};

template <typename T>
class DenseProductsTest : public ::testing::Test {};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DenseProductsTest, Types);

template <typename T>
void CheckAgainstSums(const Size& size, int form) {
  const auto [m, k, n] = size;
  const bool add = form & 1;
  SCOPED_TRACE(absl::StrCat(m, " ", k, " ", n, " form ", form));
  const std::vector<T> left = Values<T>((m + 3) * (k + 3), "left"), right = Values<T>((n + 3) * (k + 3), "right");
  const MatrixView<T> a = View(left, m, k, form & 2), b = View(right, k, n, form & 4);
  const int64_t stride = n + 2;
  std::vector<T> out(m * stride, 2.0);
  MultiplyDense(a, b, add, out.data(), stride);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = add ? 2 : 0, sizes = 2;
      for (int64_t l = 0; l < k; ++l) {
        const double term = double{Element(a, i, l)} * double{Element(b, l, j)};
        sum += term;
        sizes += std::abs(term);
      }
      ASSERT_NEAR(out[i * stride + j], sum, (std::is_same_v<T, float> ? 1e-6 : 2e-15) * sizes) << i << " " << j;
    }
    for (int64_t j = n; j < stride; ++j) ASSERT_EQ(out[i * stride + j], 2.0);
  }
}

// Sizes below, at and above tiles, strips and depths, for every vector length.
TYPED_TEST(DenseProductsTest, AgreesWithSums) {
  using T = TypeParam;
  ForEachTarget([] {
    for (const Size& size : {Size{1, 1, 1}, Size{8, 2, 48}, Size{7, 3, 31}, Size{9, 5, 49}, Size{15, 6, 64},
                             Size{20, 256, 40}, Size{13, 515, 65}, Size{4, 9, 131}, Size{66, 4, 3}}) {
      for (int form = 0; form < 8; ++form) CheckAgainstSums<T>(size, form);
    }
  });
}

// A product computed in parts has the bits of the whole, so that threads can share it.
TYPED_TEST(DenseProductsTest, PartsAreTheWhole) {
  using T = TypeParam;
  constexpr int64_t kM = 27, kK = 300, kN = 150;
  const std::vector<T> left = Values<T>((kM + 3) * (kK + 3), "left"), right = Values<T>((kN + 3) * (kK + 3), "right");
  ForEachTarget([&] {
    for (int form = 0; form < 4; ++form) {
      const MatrixView<T> a = View(left, kM, kK, form & 1), b = View(right, kK, kN, form & 2);
      std::vector<T> whole(kM * kN), parts(kM * kN);
      MultiplyDense(a, b, false, whole.data(), kN);
      for (int64_t row = 0; row < kM; row += 10) {
        for (int64_t column = 0; column < kN; column += 37) {
          MultiplyDense(a.Rows(row, std::min(row + 10, kM)), b.Columns(column, std::min(column + 37, kN)), false,
                        parts.data() + row * kN + column, kN);
        }
      }
      EXPECT_EQ(parts, whole) << form;
    }
  });
}

// A zero does not hide NaN or infinity.
TYPED_TEST(DenseProductsTest, NaNAndInfinityStay) {
  using T = TypeParam;
  ForEachTarget([] {
    const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    const std::vector<T> a = {nan, 1, 0, 1, inf, 1}, b = {0, 1};  // [3, 2], [2, 1]
    std::vector<T> out(3);
    MultiplyDense<T>({a.data(), 3, 2, 2}, {b.data(), 2, 1, 1}, false, out.data(), 1);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 1.0);
    EXPECT_TRUE(std::isnan(out[2]));
    const T two = 2;
    MultiplyDense<T>({&inf, 1, 1, 1}, {&two, 1, 1, 1}, false, out.data(), 1);
    EXPECT_EQ(out[0], inf);
  });
}

TYPED_TEST(DenseProductsTest, NothingToAddUp) {
  using T = TypeParam;
  std::vector<T> out(4, 2.0);
  MultiplyDense<T>({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, true, out.data(), 2);
  EXPECT_EQ(out[3], 2.0);
  MultiplyDense<T>({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, false, out.data(), 2);
  EXPECT_EQ(out[3], 0.0);
}

template <typename T>
class DenseProductsDeathTest : public ::testing::Test {};
TYPED_TEST_SUITE(DenseProductsDeathTest, Types);

TYPED_TEST(DenseProductsDeathTest, SizesMustAgree) {
  using T = TypeParam;
  std::vector<T> x(6);
  EXPECT_DEATH(MultiplyDense<T>({x.data(), 2, 3, 3}, {x.data(), 2, 3, 3}, false, x.data(), 3), "3 vs. 2");
}

}  // namespace
}  // namespace rutile
