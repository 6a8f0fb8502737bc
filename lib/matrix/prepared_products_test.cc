#include "lib/matrix/prepared_products.h"

#include <cmath>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "lib/matrix/bf16/bf16_number.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/matrix_testing.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

struct Size {
  int64_t m, k, n;
};

template <typename T>
double Factor(T x, bool rounded) {
  return rounded ? double{FromBf16(RoundToBf16(static_cast<float>(x)))} : double{x};
}

template <typename T>
void CheckAgainstSums(const Size& size, int form, bool rounded, PreparedProducts<T>* products, PreparedFactor<T>* left,
                      PreparedFactor<T>* right) {
  const auto [m, k, n] = size;
  const bool add = form & 1;
  SCOPED_TRACE(absl::StrCat(m, " ", k, " ", n, " form ", form, " rounded ", rounded));
  const std::vector<T> a_values = Values<T>((m + 3) * (k + 3), "left"),
                       b_values = Values<T>((n + 3) * (k + 3), "right");
  const MatrixView<T> a = View(a_values, m, k, form & 2), b = View(b_values, k, n, form & 4);
  const int64_t stride = n + 2;
  std::vector<T> out(m * stride, 2.0);
  products->Prepare(a, FactorSide::kLeft, left);
  products->Prepare(b, FactorSide::kRight, right);
  products->Multiply(*left, *right, add, out.data(), stride);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = add ? 2 : 0, sizes = 2;
      for (int64_t l = 0; l < k; ++l) {
        const double term = Factor(Element(a, i, l), rounded) * Factor(Element(b, l, j), rounded);
        sum += term;
        sizes += std::abs(term);
      }
      // The tolerance includes the rounding of sums in T, and the rest that three parts leave of a factor.
      ASSERT_NEAR(out[i * stride + j], sum, (std::is_same_v<T, float> ? 1e-6 : 2e-15) * sizes) << i << " " << j;
    }
    for (int64_t j = n; j < stride; ++j) ASSERT_EQ(out[i * stride + j], 2.0);
  }
}

// Sizes below, at and above tiles, terms, columns and rows that are multiplied at a time. Factors are reused.
template <typename T>
void CheckSizes(Bf16Form machine, bool rounded) {
  PreparedProducts<T> products(machine);
  products.SetRounding(rounded);
  PreparedFactor<T> left, right;
  for (const Size& size :
       {Size{1, 1, 1}, Size{8, 2, 48}, Size{17, 33, 31}, Size{32, 64, 32}, Size{9, 5, 49}, Size{20, 512, 40},
        Size{17, 515, 65}, Size{2, 1030, 270}, Size{4, 9, 270}, Size{515, 3, 2}}) {
    for (int form = 0; form < 8; ++form) CheckAgainstSums<T>(size, form, rounded, &products, &left, &right);
  }
}

// Uses the form of a machine without better ones.
class PreparedProductsTest : public ::testing::TestWithParam<Bf16Form> {};

TEST_P(PreparedProductsTest, F64) { CheckSizes<double>(GetParam(), false); }
TEST_P(PreparedProductsTest, F32) { CheckSizes<float>(GetParam(), false); }
TEST_P(PreparedProductsTest, Bf16) { CheckSizes<float>(GetParam(), true); }

TEST_P(PreparedProductsTest, NothingToMultiply) {
  for (const bool rounded : {false, true}) {
    PreparedProducts<float> products(GetParam());
    products.SetRounding(rounded);
    PreparedFactor<float> left, right;
    std::vector<float> out = {1, 2};
    const float x = 3;
    products.Prepare({&x, 2, 0, 1}, FactorSide::kLeft, &left);
    products.Prepare({&x, 0, 1, 1}, FactorSide::kRight, &right);
    products.Multiply(left, right, /*add=*/true, out.data(), 1);
    EXPECT_EQ(out, std::vector<float>({1, 2}));
    products.Multiply(left, right, /*add=*/false, out.data(), 1);
    EXPECT_EQ(out, std::vector<float>({0, 0}));
    products.Prepare({&x, 0, 1, 1}, FactorSide::kLeft, &left);
    products.Prepare({&x, 1, 1, 1}, FactorSide::kRight, &right);
    products.Multiply(left, right, /*add=*/false, nullptr, 1);
  }
}

TEST_P(PreparedProductsTest, ReservedMemoryStays) {
  PreparedProducts<float> products(GetParam());
  PreparedFactor<float> factor;
  products.Reserve(40, 70, &factor);
  const uint32_t* const tiles = factor.tiles.data();
  const std::vector<float> values = Values(50 * 80, "reserved");
  for (const bool rounded : {false, true}) {
    products.SetRounding(rounded);
    for (const bool transposed : {false, true}) {
      for (const FactorSide side : {FactorSide::kLeft, FactorSide::kRight}) {
        products.Prepare(View(values, 40, 70, transposed), side, &factor);
        products.Prepare(View(values, 70, 40, transposed), side, &factor);
        EXPECT_EQ(factor.tiles.data(), tiles);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, PreparedProductsTest, ::testing::ValuesIn(Bf16Forms()), [](const auto& info) {
  return absl::StrReplaceAll(Bf16FormName(info.param), {{"-", ""}});
});

TEST(PreparedProductsDeathTest, RefusesMisuse) {
  PreparedProducts<float> products;
  PreparedFactor<float> left, right;
  const std::vector<float> values(100);
  float out = 0;
  products.Prepare({values.data(), 1, 5, 5}, FactorSide::kLeft, &left);
  products.Prepare({values.data(), 4, 1, 1}, FactorSide::kRight, &right);
  EXPECT_DEATH(products.Multiply(left, right, false, &out, 1), "5 vs. 4");
  EXPECT_DEATH(PreparedProducts<double>().SetRounding(true), "mixed precision is of fp32");
}

}  // namespace
}  // namespace rutile
