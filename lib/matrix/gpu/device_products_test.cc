#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "lib/gpu/block.h"
#include "lib/gpu/device_array-inl.h"
#include "lib/gpu/host_backend-inl.h"
#include "lib/matrix/gpu/device_products-inl.h"
#include "lib/matrix/gpu/host_products.h"
#include "lib/matrix/gpu/product_bodies-inl.h"
#include "lib/matrix/gpu/product_plan.h"

namespace rutile {
namespace {

// Rows of a matrix, some numbers apart, on the host and on the device. What is between rows is NaN: whoever reads it
// gets NaN.
template <typename T>
struct Rows {
  int64_t rows, columns, gap, offset;
  std::vector<T> values;
  DeviceArray<T, HostBackend> device;

  // offset: numbers before the first row, which is then not aligned.
  Rows(HostBackend* backend, int64_t rows, int64_t columns, int64_t gap, int64_t offset, std::mt19937_64* random)
      : rows(rows), columns(columns), gap(gap), offset(offset), device(backend) {
    values.assign(offset + rows * stride(), std::numeric_limits<T>::quiet_NaN());
    std::uniform_real_distribution<T> uniform(-1, 1);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) values[offset + i * stride() + j] = uniform(*random);
    }
    device.Upload(values);
  }
  int64_t stride() const { return columns + gap; }
  double At(int64_t i, int64_t j) const { return static_cast<double>(values[offset + i * stride() + j]); }
};

struct Case {
  int64_t m, n, k;
  bool a_transposed = false, b_transposed = false, add = false;
  int64_t gap = 0, offset = 0;
  ProductPlan plan = {};  // k_of_split 0: Plan's
};

template <typename T>
void ExpectProduct(const Case& c) {
  SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " x " << c.k << ", transposed " << c.a_transposed << " "
                                  << c.b_transposed << ", add " << c.add << ", gap " << c.gap << ", offset "
                                  << c.offset);
  HostBackend backend;
  std::mt19937_64 random(1);
  const Rows<T> a(&backend, c.a_transposed ? c.k : c.m, c.a_transposed ? c.m : c.k, c.gap, c.offset, &random);
  const Rows<T> b(&backend, c.b_transposed ? c.n : c.k, c.b_transposed ? c.k : c.n, c.gap, c.offset, &random);
  Rows<T> to(&backend, c.m, c.n, c.gap, c.offset, &random);
  DeviceProducts<T, HostBackend> products(&backend);
  const auto multiply = [&](std::vector<T>* result) {
    to.device.Upload(to.values);
    const DeviceFactor<T> left = {a.device.data() + c.offset, a.stride(), c.a_transposed};
    const DeviceFactor<T> right = {b.device.data() + c.offset, b.stride(), c.b_transposed};
    T* const data = to.device.data() + c.offset;
    if (c.plan.k_of_split == 0) {
      products.Multiply(left, right, c.m, c.n, c.k, data, to.stride(), c.add);
    } else {
      products.MultiplyBy(c.plan, left, right, c.m, c.n, c.k, data, to.stride(), c.add);
    }
    to.device.Download(result);
  };
  std::vector<T> result, again;
  multiply(&result);
  multiply(&again);
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = c.add ? to.At(i, j) : 0, size = std::abs(sum);
      for (int64_t l = 0; l < c.k; ++l) {
        const double term = (c.a_transposed ? a.At(l, i) : a.At(i, l)) * (c.b_transposed ? b.At(j, l) : b.At(l, j));
        sum += term;
        size += std::abs(term);
      }
      // Each term and each partial sum is rounded once.
      const double tolerance = static_cast<double>(std::numeric_limits<T>::epsilon()) * size * std::sqrt(c.k + 1.0);
      const int64_t at = c.offset + i * to.stride() + j;
      ASSERT_NEAR(result[at], sum, tolerance) << i << " " << j;
      ASSERT_EQ(result[at], again[at]) << i << " " << j;
    }
  }
  // What is between rows was not written.
  for (int64_t i = 0; i < static_cast<int64_t>(result.size()); ++i) {
    const bool between = i < c.offset || (i - c.offset) % to.stride() >= c.n;
    ASSERT_TRUE(!between || std::isnan(result[i])) << i;
  }
}

template <typename T>
class DeviceProductsTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceProductsTest, Types);

// Factors are read along rows or columns; gaps and offsets of 1 are not aligned, a gap of 4 to rows of 200 is.
TYPED_TEST(DeviceProductsTest, AllWaysToReadFactors) {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const bool add : {false, true}) {
        for (const int64_t gap : {0, 1, 4}) {
          for (const int64_t offset : {0, 1, 4}) {
            ExpectProduct<TypeParam>({40, 68, 36, a_transposed, b_transposed, add, gap, offset});
          }
        }
      }
    }
  }
}

TYPED_TEST(DeviceProductsTest, SizesAroundThoseOfTiles) {
  constexpr int64_t kSizes[] = {1, 7, 63, 64, 65, 129, 200};
  int case_number = 0;
  for (const int64_t m : kSizes) {
    for (const int64_t n : kSizes) {
      for (const int64_t k : {1, 7, 8, 9, 33}) {
        const int bits = case_number++ % 8;  // all transpositions take turns
        ExpectProduct<TypeParam>({m, n, k, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, /*gap=*/case_number % 3});
      }
    }
  }
}

TYPED_TEST(DeviceProductsTest, OfNothing) {
  ExpectProduct<TypeParam>({5, 3, 0});
  ExpectProduct<TypeParam>({5, 3, 0, false, false, /*add=*/true, /*gap=*/2});
  ExpectProduct<TypeParam>({0, 3, 4});
  ExpectProduct<TypeParam>({3, 0, 4});
}

TYPED_TEST(DeviceProductsTest, LongSumsAreTakenInParts) {
  HostBackend backend;
  const DeviceProducts<TypeParam, HostBackend> products(&backend);
  EXPECT_GT(products.Plan(5, 9, 5003).splits, 1);
  for (const bool transposed : {false, true}) {
    for (const bool add : {false, true}) {
      ExpectProduct<TypeParam>({5, 9, 5003, transposed, !transposed, add, /*gap=*/1});
      ExpectProduct<TypeParam>({5, 9, 5003, transposed, transposed, add, /*gap=*/0});
    }
  }
}

// Both kinds of tiles with parts of several and of fewer terms than a slice; the last part is cut off.
TYPED_TEST(DeviceProductsTest, AllPlans) {
  for (const bool large : {false, true}) {
    for (const int64_t splits : {1, 2, 4}) {
      for (const int64_t k : {25, 32}) {
        const ProductPlan plan = {large, splits, /*k_of_split=*/splits == 1 ? 32 : splits == 2 ? 16 : 8};
        ExpectProduct<TypeParam>({140, 133, k, false, true, /*add=*/false, /*gap=*/3, /*offset=*/0, plan});
        ExpectProduct<TypeParam>({140, 133, k, true, false, /*add=*/true, /*gap=*/4, /*offset=*/4, plan});
      }
    }
  }
}

// The host has one thread, GPUs 128 or 256; neither 5 nor 12 divides the work.
TYPED_TEST(DeviceProductsTest, AnyNumberOfThreadsLoadsAPanel) {
  using T = TypeParam;
  constexpr int kLines = 32, kStride = kLines + 4, kSlice = 8;
  constexpr int64_t kAll = 40;  // lines and terms of the factor
  HostBackend backend;
  std::vector<T> numbers(kAll * kAll);
  std::iota(numbers.begin(), numbers.end(), T{0});
  DeviceArray<T, HostBackend> data(&backend), shared(&backend);
  data.Upload(numbers);
  shared.Resize(kSlice * kStride);
  for (const PanelOrder order : {PanelOrder::kTermsAdjacent, PanelOrder::kLinesAdjacent, PanelOrder::kLinesIn16Bytes}) {
    const ProductPanel<T> panel = {data.data(), kAll, kAll, order};
    for (const int64_t first : {0, 32}) {
      for (const int64_t term : {0, 35}) {
        for (const int threads : {1, 5, 8, 12, 128, 256, 300}) {
          std::vector<T> loaded(kSlice * kStride, T{-1});
          shared.Upload(loaded);
          for (int thread = 0; thread < threads; ++thread) {
            panel.template Load<kLines, kStride, kSlice>(Block{0, thread, threads, nullptr}, first, term, kAll,
                                                         shared.data());
          }
          shared.Download(&loaded);
          for (int i = 0; i < kSlice * kStride; ++i) {
            const int64_t line = first + i % kStride, t = term + i / kStride;
            const int64_t at = order == PanelOrder::kTermsAdjacent ? line * kAll + t : t * kAll + line;
            const T expected = i % kStride >= kLines ? T{-1} : line < kAll && t < kAll ? numbers[at] : T{0};
            ASSERT_EQ(loaded[i], expected) << threads << " threads, " << i;
          }
        }
      }
    }
  }
}

// Numbers that are not finite stay in their rows and columns: padding with zeros must not make NaN of infinity.
TYPED_TEST(DeviceProductsTest, InfinityStaysInItsRow) {
  HostBackend backend;
  std::vector<TypeParam> a(3 * 2, TypeParam{1}), b(2 * 5, TypeParam{1}), c;
  a[2] = std::numeric_limits<TypeParam>::infinity();
  DeviceArray<TypeParam, HostBackend> on_a(&backend), on_b(&backend), on_c(&backend);
  on_a.Upload(a);
  on_b.Upload(b);
  on_c.Resize(3 * 5);
  DeviceProducts<TypeParam, HostBackend>(&backend).Multiply({on_a.data(), 2, false}, {on_b.data(), 5, false}, 3, 5, 2,
                                                            on_c.data(), 5, /*add=*/false);
  on_c.Download(&c);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(c[i], i / 5 == 1 ? a[2] : TypeParam{2}) << i;
}

// The products of training on FB15k-237 on a GPU with 132 processors fill it.
TEST(ProductPlanTest, FillsAGpu) {
  const ProductTileSize large = {128, 128, 1}, small = {64, 64, 0.7};
  const auto blocks = [&](int64_t m, int64_t n, int64_t k) {
    const ProductPlan plan = MakeProductPlan(m, n, k, 132, large, small, 8, int64_t{1} << 24);
    EXPECT_EQ(plan.k_of_split % 8, 0);
    EXPECT_GE(plan.splits * plan.k_of_split, k);
    EXPECT_LT((plan.splits - 1) * plan.k_of_split, k);
    const ProductTileSize& tile = plan.large ? large : small;
    return (m + tile.rows - 1) / tile.rows * ((n + tile.columns - 1) / tile.columns) * plan.splits;
  };
  EXPECT_GE(blocks(128, 14541, 200), 114);
  EXPECT_GE(blocks(128, 200, 14541), 120);
  EXPECT_GE(blocks(1024, 200, 14541), 120);
  EXPECT_GE(blocks(14541, 200, 128), 132);
  EXPECT_GE(blocks(128, 200, 10368), 120);
}

// Scratch bounds the parts, and a sum of few terms is not divided.
TEST(ProductPlanTest, Bounds) {
  const ProductTileSize large = {128, 128, 1}, small = {64, 64, 0.7};
  EXPECT_EQ(MakeProductPlan(100, 100, 100000, 132, large, small, 8, 3 * 100 * 100).splits, 3);
  EXPECT_EQ(MakeProductPlan(100, 100, 100, 132, large, small, 8, int64_t{1} << 24).splits, 1);
  EXPECT_EQ(MakeProductPlan(100, 100, 0, 132, large, small, 8, int64_t{1} << 24).splits, 1);
}

}  // namespace
}  // namespace rutile
