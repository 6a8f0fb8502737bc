#include "lib/matrix/sparse_products.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

// Returns numbers half of which are 0.
template <typename T>
std::vector<T> Values(int64_t n, const char* purpose, bool sparse) {
  RandomStream stream(1, purpose, n);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) {
    const T x = static_cast<T>(stream.Normal());
    values.push_back(sparse && stream.Below(2) == 0 ? T(0) : x);
  }
  return values;
}

template <typename T>
void ExpectSparseRows(int64_t depth, int64_t columns) {
  // Groups of one to nine rows, one of them empty.
  const std::vector<int64_t> groups = {1, 9, 2, 4, 3, 7};
  const int64_t stride = columns + 3, width = SparsePanelColumns<T>(), panels = (columns + width - 1) / width;
  const std::vector<T> w = Values<T>(depth * stride, "w", false);
  std::vector<T> packed(panels * width * depth);
  PackSparsePanels<T>(w.data(), depth, columns, stride, packed.data());
  SparseRows<T> rows;
  rows.Clear();
  std::vector<double> expected;
  int64_t number = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<T> mask = Values<T>(depth, "mask", true);
    if (g == 2) mask.assign(depth, T(-1));
    const std::vector<T> a = Values<T>(groups[g] * (depth + 1), "a", false);
    rows.Add(mask.data(), a.data(), groups[g], depth, depth + 1);
    for (int64_t r = 0; r < groups[g]; ++r, ++number) {
      for (int64_t c = 0; c < columns; ++c) {
        expected.push_back(0);
        for (int64_t i = 0; i < depth; ++i) {
          if (mask[i] > 0) expected.back() += static_cast<double>(a[r * (depth + 1) + i]) * w[i * stride + c];
        }
      }
    }
  }
  std::vector<T> out(number * panels * width, T(-7));
  // Computes the panels in two calls.
  MultiplySparseRows<T>(rows, packed.data(), depth, 0, panels / 2, out.data(), panels * width);
  MultiplySparseRows<T>(rows, packed.data(), depth, panels / 2, panels, out.data(), panels * width);
  const double tolerance = 8 * std::numeric_limits<T>::epsilon() * static_cast<double>(depth + 1);
  for (int64_t r = 0; r < number; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      ASSERT_NEAR(out[r * panels * width + c], expected[r * columns + c], tolerance) << r << " " << c;
    }
    for (int64_t c = columns; c < panels * width; ++c) ASSERT_EQ(out[r * panels * width + c], 0);
  }
}

template <typename T>
void ExpectSparse(int64_t depth, int64_t columns) {
  constexpr int64_t kRows = 5;
  const std::vector<T> a = Values<T>(kRows * depth, "a", true), w = Values<T>(columns * depth, "w", false);
  std::vector<T> packed(SparseTilesSize<T>(columns, depth));
  PackSparseTiles<T>(w.data(), columns, depth, depth, packed.data());
  const int64_t padded = SparseColumns<T>(columns);
  ASSERT_GE(padded, columns);
  std::vector<T> out(kRows * padded, T(-7)), one(padded);
  MultiplySparse<T>(a.data(), kRows, depth, depth, packed.data(), columns, out.data());
  const double tolerance = 8 * std::numeric_limits<T>::epsilon() * static_cast<double>(depth + 1);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < padded; ++c) {
      double expected = 0;
      for (int64_t i = 0; c < columns && i < depth; ++i) {
        expected += static_cast<double>(a[r * depth + i]) * w[c * depth + i];
      }
      ASSERT_NEAR(out[r * padded + c], expected, tolerance) << r << " " << c;
    }
    MultiplySparse<T>(a.data() + r * depth, 1, depth, depth + 1, packed.data(), columns, one.data());
    for (int64_t c = 0; c < padded; ++c) ASSERT_EQ(one[c], out[r * padded + c]) << "alone";
  }
}

// Sizes below, at and above vectors, panels, blocks and tiles.
TEST(SparseProductsTest, AreThoseOfDenseMatrices) {
  ForEachTarget([] {
    for (const int64_t depth : {1, 3, 31, 32, 33, 100}) {
      for (const int64_t columns : {1, 15, 16, 17, 32, 100, 200, 209, 260}) {
        SCOPED_TRACE(absl::StrCat(depth, " x ", columns));
        ExpectSparseRows<float>(depth, columns);
        ExpectSparseRows<double>(depth, columns);
        ExpectSparse<float>(depth, columns);
        ExpectSparse<double>(depth, columns);
      }
    }
  });
}

TEST(SparseProductsTest, NanIsNotZero) {
  const std::vector<float> a = {0, std::nanf(""), 1}, w = {1, 1, 1};
  std::vector<float> packed(SparseTilesSize<float>(1, 3)), out(SparseColumns<float>(1));
  PackSparseTiles<float>(w.data(), 1, 3, 3, packed.data());
  MultiplySparse<float>(a.data(), 1, 3, 3, packed.data(), 1, out.data());
  EXPECT_TRUE(std::isnan(out[0]));
}

}  // namespace
}  // namespace rutile
