#include "lib/network/kernels/row_products.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "lib/base/random.h"
#include "lib/machine/simd.h"

namespace rutile {
namespace {

template <typename T>
std::vector<T> Random(int64_t n, uint64_t seed) {
  RandomStream stream(seed, "row products");
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(stream.Uniform(-1, 1));
  return values;
}

template <typename T>
PackedRows<T> Pack(const std::vector<T>& b, int64_t rows, int64_t columns) {
  PackedRows<T> packed(rows, columns);
  for (int64_t j = 0; j < rows; ++j) packed.Set(j, 0, absl::MakeConstSpan(b).subspan(j * columns, columns));
  return packed;
}

template <typename T>
class RowProductsTest : public ::testing::Test {
 public:
  ~RowProductsTest() override { hwy::SetSupportedTargetsForTest(0); }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RowProductsTest, Types);

// Covers sizes below, at and above groups of rows, panels and blocks of columns, with small integers, so that sums are
// exact.
TYPED_TEST(RowProductsTest, EqualsThePlainLoopOnEveryTarget) {
  using T = TypeParam;
  struct Case {
    int64_t rows, columns, tests;
  };
  for (const Case& c : {Case{1, 1, 1},
                        {2, 3, 5},
                        {7, 16, 15},
                        {8, 255, 16},
                        {9, 256, 17},
                        {13, 257, 31},
                        {4, 600, 32},
                        {17, 513, 65},
                        {5, 0, 4},
                        {3, 9, 0}}) {
    std::vector<T> a = Random<T>(c.rows * c.columns, 1), b = Random<T>(c.tests * c.columns, 2);
    for (T& v : a) v = std::round(8 * v);
    for (T& v : b) v = std::round(8 * v);
    const PackedRows<T> packed = Pack(b, c.tests, c.columns);
    for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      std::vector<double> sums(c.rows * c.tests, 1.0);
      AddRowProducts(c.rows, a.data(), c.columns, c.columns, packed, 0, sums.data());
      for (int64_t i = 0; i < c.rows; ++i) {
        for (int64_t j = 0; j < c.tests; ++j) {
          double expected = 1;
          for (int64_t k = 0; k < c.columns; ++k) expected += double{a[i * c.columns + k]} * b[j * c.columns + k];
          ASSERT_EQ(sums[i * c.tests + j], expected) << c.rows << " " << c.columns << " " << c.tests;
        }
      }
    }
  }
}

TYPED_TEST(RowProductsTest, BlocksAreAddedInDoublePrecision) {
  using T = TypeParam;
  const int64_t columns = 40 * kProductBlock;
  const std::vector<T> a = Random<T>(columns, 3), b = Random<T>(columns, 4);
  double expected = 0, size = 0;
  for (int64_t k = 0; k < columns; ++k) {
    expected += double{a[k]} * b[k];
    size += std::abs(double{a[k]} * b[k]);
  }
  double sum = 0;
  AddRowProducts(1, a.data(), columns, columns, Pack(b, 1, columns), 0, &sum);
  // A block of 256 terms loses at most 256 roundings, and few on average.
  EXPECT_NEAR(sum, expected, 16 * std::numeric_limits<T>::epsilon() * size / std::sqrt(40));
}

TYPED_TEST(RowProductsTest, TakesPartsOfColumns) {
  using T = TypeParam;
  const int64_t columns = 300, tests = 3, rows = 10;
  const std::vector<T> a = Random<T>(rows * columns, 5), b = Random<T>(tests * columns, 6);
  const PackedRows<T> packed = Pack(b, tests, columns);
  std::vector<double> all(rows * tests, 0.0), parts(rows * tests, 0.0);
  AddRowProducts(rows, a.data(), columns, columns, packed, 0, all.data());
  AddRowProducts(rows, a.data(), columns, 7, packed, 0, parts.data());
  AddRowProducts(rows, a.data() + 7, columns, 293, packed, 7, parts.data());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(parts[i], all[i], 1e2 * std::numeric_limits<T>::epsilon());
}

// The bits of an element do not depend on which rows it is computed with.
TYPED_TEST(RowProductsTest, TilesDoNotChangeTheBits) {
  using T = TypeParam;
  const int64_t columns = 411, tests = 37, rows = 21;
  const std::vector<T> a = Random<T>(rows * columns, 7), b = Random<T>(tests * columns, 8);
  const PackedRows<T> packed = Pack(b, tests, columns);
  std::vector<double> all(rows * tests, 0.0), single(rows * tests, 0.0);
  AddRowProducts(rows, a.data(), columns, columns, packed, 0, all.data());
  for (int64_t i = 0; i < rows; ++i) {
    AddRowProducts(1, a.data() + i * columns, columns, columns, packed, 0, single.data() + i * tests);
  }
  EXPECT_EQ(all, single);
  for (int64_t j = 0; j < tests; ++j) {
    PackedRows<T> one(1, columns);
    one.Set(0, 0, absl::MakeConstSpan(b).subspan(j * columns, columns));
    double sum = 0;
    AddRowProducts(1, a.data(), columns, columns, one, 0, &sum);
    EXPECT_EQ(sum, all[j]);
  }
}

TYPED_TEST(RowProductsTest, RejectsColumnsBeyondTheEnd) {
  using T = TypeParam;
  const PackedRows<T> packed(1, 4);
  const std::vector<T> a(5, T(1));
  double sum = 0;
  EXPECT_DEATH(AddRowProducts(1, a.data(), 5, 5, packed, 0, &sum), "5 vs. 4");
}

}  // namespace
}  // namespace rutile
