#include <algorithm>
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
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/gpu/device_products-inl.h"
#include "lib/matrix/gpu/device_rounding.h"
#include "lib/matrix/gpu/host_products.h"
#include "lib/matrix/gpu/product_panel-inl.h"
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

// Numbers and how their products round factors.
template <typename T, FactorRounding kFactorRounding>
struct Kind {
  using Number = T;
  static constexpr FactorRounding kRounding = kFactorRounding;

  static DeviceProducts<T, HostBackend> Products(HostBackend* backend) {
    DeviceProducts<T, HostBackend> products(backend);
    if constexpr (kRounding != FactorRounding::kNone) products.SetRounding(kRounding);
    return products;
  }
  // Returns a factor as products take it. What kTwoParts leaves out is in the tolerance.
  static double Rounded(double x) {
    return kRounding == FactorRounding::kBf16 ? static_cast<double>(RoundToBf16(static_cast<float>(x))) : x;
  }
  // Each term and each partial sum is rounded once. kTwoParts cuts 2^-22 off each factor, and leaves a product of low
  // parts out, each of which is 2^-11 of its factor at most.
  static double Tolerance(int64_t k) {
    return static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(static_cast<double>(k) + 1) +
           (kRounding == FactorRounding::kTwoParts ? 3 * 0x1p-22 : 0);
  }
};

template <typename Kind>
void ExpectProduct(const Case& c) {
  using T = typename Kind::Number;
  SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " x " << c.k << ", transposed " << c.a_transposed << " "
                                  << c.b_transposed << ", add " << c.add << ", gap " << c.gap << ", offset "
                                  << c.offset);
  HostBackend backend;
  std::mt19937_64 random(1);
  const Rows<T> a(&backend, c.a_transposed ? c.k : c.m, c.a_transposed ? c.m : c.k, c.gap, c.offset, &random);
  const Rows<T> b(&backend, c.b_transposed ? c.n : c.k, c.b_transposed ? c.k : c.n, c.gap, c.offset, &random);
  Rows<T> to(&backend, c.m, c.n, c.gap, c.offset, &random);
  DeviceProducts<T, HostBackend> products = Kind::Products(&backend);
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
        const double term = Kind::Rounded(c.a_transposed ? a.At(l, i) : a.At(i, l)) *
                            Kind::Rounded(c.b_transposed ? b.At(j, l) : b.At(l, j));
        sum += term;
        size += std::abs(term);
      }
      const double tolerance = Kind::Tolerance(c.k) * size;
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
using Types = ::testing::Types<Kind<float, FactorRounding::kNone>, Kind<double, FactorRounding::kNone>,
                               Kind<float, FactorRounding::kTwoParts>, Kind<float, FactorRounding::kBf16>>;
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
  const auto products = TypeParam::Products(&backend);
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
template <typename T, typename Layout>
void ExpectAnyNumberOfThreadsLoads(const std::vector<PanelOrder>& orders) {
  constexpr int64_t kAll = 40;  // lines and terms of the factor
  HostBackend backend;
  std::vector<T> numbers(kAll * kAll);
  std::iota(numbers.begin(), numbers.end(), T{0});
  DeviceArray<T, HostBackend> data(&backend), shared(&backend);
  data.Upload(numbers);
  for (const PanelOrder order : orders) {
    const ProductPanel<T> panel = {data.data(), kAll, kAll, order};
    for (const int64_t first : {0, 32}) {
      for (const int64_t term : {0, 36}) {
        for (const int64_t end : {kAll, kAll - 1}) {
          std::vector<T> expected(Layout::kNumbers, T{-1});  // padding is not written
          for (int line = 0; line < Layout::kLines; ++line) {
            for (int t = 0; t < Layout::kSlice; ++t) {
              const int64_t at =
                  AreTermsAdjacent(order) ? (first + line) * kAll + term + t : (term + t) * kAll + first + line;
              expected[Layout::At(line, t)] = first + line < kAll && term + t < end ? numbers[at] : T{0};
            }
          }
          for (const int threads : {1, 5, 8, 12, 128, 256, 300}) {
            std::vector<T> loaded(Layout::kNumbers, T{-1});
            shared.Upload(loaded);
            for (int thread = 0; thread < threads; ++thread) {
              panel.template Load<Layout>(Block{0, thread, threads, nullptr}, first, term, end, shared.data());
            }
            shared.Download(&loaded);
            ASSERT_EQ(loaded, expected) << threads << " threads";
          }
        }
      }
    }
  }
}
TEST(ProductPanelTest, AnyNumberOfThreadsLoads) {
  using Order = PanelOrder;
  const std::vector<PanelOrder> terms = {Order::kTermsAdjacent, Order::kTermsIn16Bytes};
  const std::vector<PanelOrder> lines = {Order::kLinesAdjacent, Order::kLinesIn16Bytes};
  for (const auto& orders : {std::vector<PanelOrder>{Order::kTermsAdjacent}, lines}) {
    ExpectAnyNumberOfThreadsLoads<float, PaddedTermRows<32, 36, 8>>(orders);
    ExpectAnyNumberOfThreadsLoads<double, PaddedTermRows<32, 34, 8>>(orders);
  }
  ExpectAnyNumberOfThreadsLoads<float, SwizzledLineRows<32, 16>>(terms);
  ExpectAnyNumberOfThreadsLoads<float, SwizzledLineRows<32, 32>>(terms);
  ExpectAnyNumberOfThreadsLoads<float, SwizzledTermRows<32, 16>>(lines);
  ExpectAnyNumberOfThreadsLoads<float, SwizzledTermRows<32, 32>>(lines);
}

// Returns a b of matrices that are not transposed.
template <typename Kind, typename T>
std::vector<T> Product(const std::vector<T>& a, const std::vector<T>& b, int64_t m, int64_t n, int64_t k) {
  HostBackend backend;
  DeviceArray<T, HostBackend> on_a(&backend), on_b(&backend), on_c(&backend);
  on_a.Upload(a);
  on_b.Upload(b);
  on_c.Resize(m * n);
  Kind::Products(&backend).Multiply({on_a.data(), k, false}, {on_b.data(), n, false}, m, n, k, on_c.data(), n,
                                    /*add=*/false);
  std::vector<T> c;
  on_c.Download(&c);
  return c;
}

// Numbers that are not finite stay in their rows and columns: padding with zeros must not make NaN of infinity. With
// kTwoParts infinity becomes NaN.
TYPED_TEST(DeviceProductsTest, WhatIsNotFiniteStaysInItsRow) {
  using T = typename TypeParam::Number;
  constexpr T kInfinity = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> nans = {kInfinity, -kInfinity, kNan, -kNan};
  if constexpr (sizeof(T) == 4) {  // NaN of any bits
    for (const uint32_t bits : {0x7fffffffu, 0xffffffffu, 0x7f800001u, 0xff800001u}) nans.push_back(FloatOf(bits));
  }
  for (const T x : nans) {
    std::vector<T> a(3 * 2, T{1});
    const std::vector<T> b(2 * 5, T{1});
    a[2] = x;
    const std::vector<T> c = Product<TypeParam>(a, b, 3, 5, 2), d = Product<TypeParam>(b, a, 5, 3, 2);
    for (int i = 0; i < 15; ++i) {
      if (i / 5 != 1) {
        EXPECT_EQ(c[i], T{2}) << x << " " << i;
      } else if (std::isnan(x) || TypeParam::kRounding == FactorRounding::kTwoParts) {
        EXPECT_TRUE(std::isnan(c[i])) << x << " " << i;
      } else {
        EXPECT_EQ(c[i], x) << i;
      }
    }
    for (int i = 0; i < 15; ++i) EXPECT_EQ(std::isfinite(d[i]), i % 3 != 2) << x << " " << i;
  }
}

// kTwoParts has the accuracy that its name promises, in terms of the sums of absolute values.
TEST(DeviceRoundingTest, SplitIsMuchMoreAccurateThanTf32) {
  using Split = Kind<float, FactorRounding::kTwoParts>;
  constexpr int64_t kSize = 70, kTerms = 100;
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> a(kSize * kTerms), b(kTerms * kSize);
  for (float& x : a) x = normal(random);
  for (float& x : b) x = std::ldexp(normal(random), static_cast<int>(random() % 40) - 20);
  const std::vector<float> c = Product<Split>(a, b, kSize, kSize, kTerms);
  double worst = 0, worst_of_tf32 = 0;
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      double sum = 0, rounded = 0, size = 0;
      for (int64_t l = 0; l < kTerms; ++l) {
        const float x = a[i * kTerms + l], y = b[l * kSize + j];
        const double term = static_cast<double>(x) * static_cast<double>(y);
        sum += term;
        size += std::abs(term);
        rounded += static_cast<double>(SplitToTf32(x).hi) * static_cast<double>(SplitToTf32(y).hi);
      }
      worst = std::max(worst, std::abs(static_cast<double>(c[i * kSize + j]) - sum) / size);
      worst_of_tf32 = std::max(worst_of_tf32, std::abs(rounded - sum) / size);
    }
  }
  EXPECT_LT(worst, 1e-6);
  EXPECT_LT(50 * worst, worst_of_tf32);
}

// hi has 11 bits and is the nearest such number, and hi + lo has all but the last of 24 bits.
TEST(DeviceRoundingTest, PartsOfTf32) {
  const auto low_bits = [](float x) { return BitsOf(x) & 0x1fffu; };
  EXPECT_EQ(SplitToTf32(1 + 0x1p-10f).hi, 1 + 0x1p-10f);
  EXPECT_EQ(SplitToTf32(1 + 0x1p-11f).hi, 1 + 0x1p-10f);  // a tie
  EXPECT_EQ(SplitToTf32(-1 - 0x1p-11f).hi, -1 - 0x1p-10f);
  EXPECT_EQ(SplitToTf32(1 + 0x1p-12f).hi, 1);
  EXPECT_EQ(SplitToTf32(1 + 0x1p-12f).lo, 0x1p-12f);
  EXPECT_EQ(SplitToTf32(0.0f).lo, 0);
  std::mt19937_64 random(4);
  for (int i = 0; i < 10000; ++i) {
    const float x = FloatOf(static_cast<uint32_t>(random()));
    if (!(std::abs(x) > 1e-30f && std::abs(x) < 1e38f)) continue;
    const Tf32Parts parts = SplitToTf32(x);
    EXPECT_EQ(low_bits(parts.hi) | low_bits(parts.lo), 0u) << x;
    EXPECT_LE(std::abs(x - parts.hi), 0x1p-11f * std::abs(x)) << x;
    EXPECT_LE(std::abs(x - parts.hi - parts.lo), 0x1p-22f * std::abs(x)) << x;
  }
}

// The largest finite numbers round to infinity; their products are not silently finite.
TEST(DeviceRoundingTest, LargestNumbers) {
  constexpr float kMax = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(SplitToTf32(kMax).hi, kInfinity);
  EXPECT_EQ(SplitToTf32(kMax).lo, -kInfinity);
  EXPECT_TRUE(
      std::isnan((Product<Kind<float, FactorRounding::kTwoParts>>(std::vector<float>{kMax}, {0.5f}, 1, 1, 1)[0])));
  EXPECT_EQ(RoundToBf16(kMax), kInfinity);
}

TEST(DeviceRoundingTest, Bf16TiesGoToEven) {
  EXPECT_EQ(RoundToBf16(1 + 0x1p-7f), 1 + 0x1p-7f);
  EXPECT_EQ(RoundToBf16(1 + 0x1p-8f), 1);
  EXPECT_EQ(RoundToBf16(1 + 3 * 0x1p-8f), 1 + 0x1p-6f);
  EXPECT_EQ(RoundToBf16(1 + 0x1p-8f + 0x1p-23f), 1 + 0x1p-7f);
  EXPECT_EQ(RoundToBf16(-0.3f), -0.30078125f);
  EXPECT_TRUE(std::isnan(RoundToBf16(FloatOf(0x7f800001u))));
}

// Eight threads that read 16 bytes at once use all 32 banks, and a panel has each number once.
template <typename Layout>
void ExpectNoBankConflicts() {
  std::vector<bool> used(Layout::kNumbers, false);
  for (int line = 0; line < Layout::kLines; ++line) {
    for (int term = 0; term < Layout::kSlice; ++term) {
      const int at = Layout::At(line, term);
      ASSERT_TRUE(at >= 0 && at < Layout::kNumbers && !used[at]) << line << " " << term;
      used[at] = true;
      const int begin = Layout::kGroupsOfTerms ? Layout::At(line, term / 4 * 4) + term % 4
                                               : Layout::At(line / 4 * 4, term) + line % 4;
      ASSERT_EQ(at, begin);  // 16 bytes lie together
    }
  }
  for (int first = 0; first < 4; ++first) {  // threads g = 2 first and the next, and all t, read lines and terms
    for (int i = 0; i < 4; ++i) {
      std::vector<bool> banks(8, false);
      for (int thread = 0; thread < 8; ++thread) {
        const int line = thread / 4 * 16 + first * 4, term = thread % 4 * 4;
        const int at = Layout::kGroupsOfTerms ? Layout::At(line + i, term) : Layout::At(line, term + i);
        EXPECT_FALSE(banks[at / 4 % 8]) << first << " " << i << " " << thread;
        banks[at / 4 % 8] = true;
      }
    }
  }
}
TEST(TensorTileTest, NoBankConflicts) {
  ExpectNoBankConflicts<SwizzledLineRows<64, 16>>();
  ExpectNoBankConflicts<SwizzledLineRows<64, 32>>();
  ExpectNoBankConflicts<SwizzledTermRows<64, 16>>();
  ExpectNoBankConflicts<SwizzledTermRows<128, 32>>();
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
