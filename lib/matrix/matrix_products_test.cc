#include "lib/matrix/matrix_products.h"

#include <optional>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "lib/base/random.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

// Returns small whole numbers, which are exact in every type.
template <typename T>
void CheckAllForms(FactorRounding factors) {
  constexpr int64_t kM = 3, kK = 5, kN = 4, kStride = 7;
  for (int form = 0; form < 8; ++form) {
    std::vector<T> left(kStride * kStride), right(kStride * kStride), out(kM * kStride, T{2});
    for (size_t i = 0; i < left.size(); ++i) left[i] = static_cast<T>(static_cast<int>(i * 7 % 11) - 5);
    for (size_t i = 0; i < right.size(); ++i) right[i] = static_cast<T>(static_cast<int>(i * 5 % 13) - 6);
    MatrixView<T> a = {left.data(), kM, kK, kStride}, b = {right.data(), kK, kN, kStride};
    if (form & 1) a = MatrixView<T>{left.data(), kK, kM, kStride}.Transposed();
    if (form & 2) b = MatrixView<T>{right.data(), kN, kK, kStride}.Transposed();
    const bool add = form & 4;
    MatrixProducts<T> products(factors);
    products.SetRounding(true);
    products.Multiply(a, b, add, out.data(), kStride);
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        T sum = add ? 2 : 0;
        for (int64_t l = 0; l < kK; ++l) {
          sum +=
              left[form & 1 ? l * kStride + i : i * kStride + l] * right[form & 2 ? j * kStride + l : l * kStride + j];
        }
        EXPECT_EQ(out[i * kStride + j], sum) << form;
      }
      for (int64_t j = kN; j < kStride; ++j) EXPECT_EQ(out[i * kStride + j], T{2});
    }
  }
}

TEST(MatrixProductsTest, F32) { CheckAllForms<float>(FactorRounding::kNone); }
TEST(MatrixProductsTest, F64) { CheckAllForms<double>(FactorRounding::kNone); }
TEST(MatrixProductsTest, Bf16) { CheckAllForms<float>(FactorRounding::kBf16); }
TEST(MatrixProductsTest, TwoParts) { CheckAllForms<float>(FactorRounding::kTwoParts); }

TEST(MatrixProductsTest, RoundsOnlyWhenToldTo) {
  const float x = 1 + 1.0f / 1024 + 1.0f / (1 << 22), one = 1;
  for (const FactorRounding factors : {FactorRounding::kTwoParts, FactorRounding::kBf16}) {
    float out = 0;
    MatrixProducts<float> products(factors);
    products.Multiply({&x, 1, 1, 1}, {&one, 1, 1, 1}, false, &out, 1);
    EXPECT_EQ(out, x);
    products.SetRounding(true);
    products.Multiply({&x, 1, 1, 1}, {&one, 1, 1, 1}, false, &out, 1);
    EXPECT_EQ(out, factors == FactorRounding::kBf16 ? 1 : 1 + 1.0f / 1024);
  }
}

// Checks that no bits of a factor are lost at any size, whichever kernel the size selects.
TEST(MatrixProductsTest, ExactAtEverySize) {
  const float x = 1 + 1.0f / 1024 + 1.0f / (1 << 22), y = 1 - 1.0f / (1 << 12);
  for (const int64_t m : {1, 15, 16, 33}) {
    for (const int64_t k : {1, 23, 24, 40}) {
      for (const int64_t n : {1, 15, 16, 50}) {
        std::vector<float> left(m * k), right(k * n), out(m * n);
        for (int64_t i = 0; i < m; ++i) left[i * k + i % k] = x;  // a term for each sum
        for (float& value : right) value = y;
        MatrixProducts<float>(FactorRounding::kNone)
            .Multiply({left.data(), m, k, k}, {right.data(), k, n, n}, false, out.data(), n);
        for (const float result : out) ASSERT_FLOAT_EQ(result, x * y) << m << " " << k << " " << n;
      }
    }
  }
}

// Divides columns, and rows if columns are few.
template <typename T>
void CheckThreads() {
  for (const auto& [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{70, 90, 700}, {1500, 130, 20}}) {
    RandomStream random(1, "factors", m);
    std::vector<T> left(m * k), right(k * n), expected(m * n);
    for (T& x : left) x = static_cast<T>(random.Normal());
    for (T& x : right) x = static_cast<T>(random.Normal());
    for (const FactorRounding factors : {FactorRounding::kNone, FactorRounding::kTwoParts, FactorRounding::kBf16}) {
      if (factors != FactorRounding::kNone && sizeof(T) > sizeof(float)) continue;
      for (int form = 0; form < 4; ++form) {
        const MatrixView<T> a =
            form & 1 ? MatrixView<T>{left.data(), k, m, m, true} : MatrixView<T>{left.data(), m, k, k};
        const MatrixView<T> b =
            form & 2 ? MatrixView<T>{right.data(), n, k, k, true} : MatrixView<T>{right.data(), k, n, n};
        for (const int threads : {0, 1, 2, 3}) {
          std::optional<ThreadPool> pool;
          if (threads > 0) pool.emplace(threads);
          MatrixProducts<T> products(factors, pool ? &*pool : nullptr);
          products.SetRounding(true);
          std::vector<T> out(m * n);
          products.Multiply(a, b, false, out.data(), n);
          if (threads == 0) expected = out;
          EXPECT_EQ(out, expected) << static_cast<int>(factors) << form << threads;
        }
      }
    }
  }
}

TEST(MatrixProductsTest, AnyNumberOfThreadsGivesTheSameBits) {
  CheckThreads<float>();
  CheckThreads<double>();
}

TEST(MatrixProductsDeathTest, Misuse) {
  EXPECT_DEATH(MatrixProducts<double>(FactorRounding::kBf16), "mixed precision is of fp32");
  float x[4] = {};
  EXPECT_DEATH(MatrixProducts<float>(FactorRounding::kNone).Multiply({x, 1, 2, 2}, {x, 1, 2, 2}, false, x, 2),
               "2 vs. 1");
}

}  // namespace
}  // namespace rutile
