#include "lib/matrix/bf16/bf16_products.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/machine/cpu_bf16.h"
#include "lib/matrix/bf16/bf16_machines.h"
#include "lib/matrix/dense_products.h"
#include "lib/matrix/matrix_testing.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {
namespace {

// Rounding to 8 bits of mantissa.
float Rounded(float x) {
  int exponent;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(fraction * 256), exponent - 8);
}

// The rest that two parts leave of x.
float RoundedTwice(float x) { return Rounded(x) + Rounded(x - Rounded(x)); }

// A form and a number of parts.
class Bf16ProductsTest : public ::testing::TestWithParam<std::tuple<Bf16Form, int>> {
 protected:
  Bf16Form form() const { return std::get<0>(GetParam()); }
  int parts() const { return std::get<1>(GetParam()); }
  Bf16Products Products() const { return Bf16Products(form(), parts()); }
};

std::string NameOfForm(const ::testing::TestParamInfo<std::tuple<Bf16Form, int>>& info) {
  const auto [form, parts] = info.param;
  return absl::StrCat(form == Bf16Form::kAmx      ? "Amx"
                      : form == Bf16Form::kAvx512 ? "Avx512"
                                                  : "Portable",
                      parts == 3   ? "InThreeParts"
                      : parts == 2 ? "InTwoParts"
                                   : "");
}

// All combinations that this machine has.
INSTANTIATE_TEST_SUITE_P(Forms, Bf16ProductsTest,
                         ::testing::Combine(::testing::ValuesIn(Bf16Forms()), ::testing::Values(1, 2, 3)), NameOfForm);

// Sizes below, at and above tiles, panels, depths and blocks.
TEST_P(Bf16ProductsTest, AgreesWithSumsOfRoundedFactors) {
  const int64_t sizes[][3] = {{1, 1, 1},    {8, 2, 32},   {7, 3, 31},    {9, 5, 33},    {20, 256, 40}, {13, 515, 65},
                              {16, 32, 16}, {32, 64, 32}, {33, 63, 17},  {17, 65, 47},  {48, 31, 48},  {530, 9, 3},
                              {3, 40, 530}, {250, 7, 37}, {271, 33, 18}, {31, 1030, 20}};
  Bf16Products products = Products();
  const auto kept = [this](float x) { return parts() == 3 ? x : parts() == 2 ? RoundedTwice(x) : Rounded(x); };
  // With two parts the product of both rests is left out: at most 2^-8 of each factor. With three, 2^-23 of a term.
  const double tolerance = parts() == 2 ? 1.0 / (1 << 16) + 1e-6 : 1e-6;
  for (const auto& [m, k, n] : sizes) {
    for (int form = 0; form < 8; ++form) {
      const bool add = form & 1;
      SCOPED_TRACE(absl::StrCat(m, " ", k, " ", n, " form ", form));
      const std::vector<float> left = Values((m + 3) * (k + 3), "left"), right = Values((n + 3) * (k + 3), "right");
      const MatrixView<float> a = View(left, m, k, form & 2), b = View(right, k, n, form & 4);
      const int64_t stride = n + 2;
      std::vector<float> out(m * stride, 2.0f);
      products.Multiply(a, b, add, out.data(), stride);
      std::vector<double> row(k), columns;
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t l = 0; l < k; ++l) columns.push_back(kept(Element(b, l, j)));
      }
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t l = 0; l < k; ++l) row[l] = kept(Element(a, i, l));
        for (int64_t j = 0; j < n; ++j) {
          double sum = add ? 2 : 0, sizes_sum = 2;
          for (int64_t l = 0; l < k; ++l) {
            const double term = row[l] * columns[j * k + l];
            sum += term;
            sizes_sum += std::abs(term);
          }
          ASSERT_NEAR(out[i * stride + j], sum, tolerance * sizes_sum);
        }
        for (int64_t j = n; j < stride; ++j) ASSERT_EQ(out[i * stride + j], 2.0f);
      }
    }
  }
}

// With small whole numbers, which are exact, every form gives the result of the portable one.
TEST_P(Bf16ProductsTest, EqualsThePortableFormWhereNothingIsRounded) {
  constexpr int64_t kM = 75, kK = 600, kN = 90;
  std::vector<float> left = Values((kM + 3) * (kK + 3), "left"), right = Values((kN + 3) * (kK + 3), "right");
  for (float& x : left) x = std::nearbyint(10 * x);
  for (float& x : right) x = std::nearbyint(10 * x);
  for (int form = 0; form < 4; ++form) {
    const MatrixView<float> a = View(left, kM, kK, form & 1), b = View(right, kK, kN, form & 2);
    std::vector<float> out(kM * kN, 1.0f), expected = out;
    Products().Multiply(a, b, /*add=*/true, out.data(), kN);
    Bf16Products(Bf16Form::kPortable, parts()).Multiply(a, b, /*add=*/true, expected.data(), kN);
    EXPECT_EQ(out, expected) << form;
  }
}

// Cuts the product at odd places, so that numbers are elsewhere in tiles and at their edges.
TEST_P(Bf16ProductsTest, APartHasTheBitsOfTheWhole) {
  if (parts() > 1 && form() != Bf16Form::kAmx) return;  // computed by products of one part
  constexpr int64_t kM = 300, kN = 560;
  for (const int64_t k : {5, 200, 700}) {
    const std::vector<float> left = Values((kM + 3) * (k + 3), "left"), right = Values((kN + 3) * (k + 3), "right");
    for (int form = 0; form < 8; ++form) {
      const bool add = form & 1;
      const MatrixView<float> a = View(left, kM, k, form & 2), b = View(right, k, kN, form & 4);
      std::vector<float> whole(kM * kN, 0.3f), parts = whole;
      Bf16Products products = Products();
      products.Multiply(a, b, add, whole.data(), kN);
      for (const auto& [row, end_row] : {std::pair<int64_t, int64_t>{0, 7}, {7, 8}, {8, 290}, {290, kM}}) {
        for (const auto& [column, end] : {std::pair<int64_t, int64_t>{0, 19}, {19, 540}, {540, kN}}) {
          products.Multiply(a.Rows(row, end_row), b.Columns(column, end), add, parts.data() + row * kN + column, kN);
        }
      }
      EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0) << k << " form " << form;
    }
  }
}

// Several threads multiply at the same time, one of which has never used the tile registers.
TEST_P(Bf16ProductsTest, ThreadsDoNotDisturbEachOther) {
  constexpr int64_t kSize = 70;
  const std::vector<float> left = Values((kSize + 3) * (kSize + 3), "left"),
                           right = Values((kSize + 3) * (kSize + 3), "right");
  std::vector<std::vector<float>> results(4, std::vector<float>(kSize * kSize));
  std::vector<std::thread> threads;
  for (std::vector<float>& result : results) {
    threads.emplace_back([&] {
      Bf16Products products = Products();
      for (int i = 0; i < 50; ++i) {
        products.Multiply(View(left, kSize, kSize, false), View(right, kSize, kSize, true), false, result.data(),
                          kSize);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
}

// Each factor keeps 17 bits. The tolerance is what is left out, at most 2^-15 of each term, plus the rounding of fp32
// sums.
TEST_P(Bf16ProductsTest, TwoPartsAreNearlyFp32) {
  if (parts() != 2) return;
  constexpr int64_t kSize = 100;
  const std::vector<float> left = Values((kSize + 3) * (kSize + 3), "left"),
                           right = Values((kSize + 3) * (kSize + 3), "right");
  const MatrixView<float> a = View(left, kSize, kSize, false), b = View(right, kSize, kSize, false);
  std::vector<float> out(kSize * kSize);
  Products().Multiply(a, b, false, out.data(), kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      double sum = 0, sizes = 0;
      for (int64_t l = 0; l < kSize; ++l) {
        const double term = static_cast<double>(Element(a, i, l)) * Element(b, l, j);
        sum += term;
        sizes += std::abs(term);
      }
      ASSERT_NEAR(out[i * kSize + j], sum, (1.0 / (1 << 15) + 1e-6) * sizes);
    }
  }
}

// Both factors have a rest of nearly half of bfloat16's last digit.
TEST_P(Bf16ProductsTest, TheWorstTermOfTwoParts) {
  if (parts() != 2) return;
  const float x = 1 + 255.0f / (1 << 16);
  float out = 0;
  Products().Multiply({&x, 1, 1, 1}, {&x, 1, 1, 1}, false, &out, 1);
  const double error = 1 - out / (static_cast<double>(x) * x);
  EXPECT_GT(error, 1.0 / (1 << 17));
  EXPECT_LT(error, 1.0 / (1 << 15));
}

// The third part has the rest of 16 bits, and is multiplied only with the first.
TEST_P(Bf16ProductsTest, TheWorstTermOfThreeParts) {
  if (parts() != 3) return;
  double worst = 0;
  for (int i = 0; i < 1 << 12; ++i) {
    const float x = 1 + (255 * 256 + 32.0f * (i & 7)) / (1 << 23) + (i >> 3) / 4194304.0f;
    for (const float y : {x, 1.0f, 1 + 1.0f / (1 << 23)}) {
      float out = 0;
      Products().Multiply({&x, 1, 1, 1}, {&y, 1, 1, 1}, false, &out, 1);
      const double exact = static_cast<double>(x) * y;
      worst = std::max(worst, std::abs(out - exact) / exact);
    }
  }
  // The tolerance includes the rounding of sums of six products.
  EXPECT_LT(worst, 1.0 / (1 << 22));
}

// The error of three parts, both its root mean square and its maximum, is that of fp32 multiply-adds or less.
TEST_P(Bf16ProductsTest, ThreePartsAreAsExactAsFp32) {
  if (parts() != 3 || form() != Bf16Form::kAmx) return;
  constexpr int64_t kM = 40, kN = 56;
  for (const int64_t k : {3, 32, 200, 512, 3000}) {
    for (const int kind : {0, 1, 2}) {  // both signs, sizes from 2^-10 to 2^10, one sign
      std::vector<float> left = Values((kM + 3) * (k + 3), "left"), right = Values((kN + 3) * (k + 3), "right");
      const std::vector<float> sizes = Values((kM + kN + 6) * (k + 3), "sizes");
      for (size_t i = 0; i < left.size() + right.size(); ++i) {
        float& x = i < left.size() ? left[i] : right[i - left.size()];
        if (kind == 1) x *= std::exp2(10 * sizes[i]);
        if (kind == 2) x = std::abs(x);
      }
      const MatrixView<float> a = View(left, kM, k, false), b = View(right, k, kN, true);
      std::vector<float> split(kM * kN), dense(kM * kN);
      Products().Multiply(a, b, false, split.data(), kN);
      MultiplyDense(a, b, false, dense.data(), kN);
      double squares[2] = {}, most[2] = {};
      for (int64_t i = 0; i < kM; ++i) {
        for (int64_t j = 0; j < kN; ++j) {
          double sum = 0, terms = 0;
          for (int64_t l = 0; l < k; ++l) {
            const double term = static_cast<double>(Element(a, i, l)) * Element(b, l, j);
            sum += term;
            terms += std::abs(term);
          }
          for (int form = 0; form < 2; ++form) {
            const double error = std::abs((form == 0 ? split : dense)[i * kN + j] - sum) / terms;
            squares[form] += error * error;
            most[form] = std::max(most[form], error);
          }
        }
      }
      const double ratio = std::sqrt(squares[0] / squares[1]);
      RecordProperty(absl::StrCat("rms_", k, "_", kind), absl::StrCat(ratio, " ", most[0] / most[1]));
      EXPECT_LT(ratio, 1.5) << k << " " << kind;
      EXPECT_LT(most[0], 2 * most[1]) << k << " " << kind;
    }
  }
}

TEST_P(Bf16ProductsTest, TiesGoToEvenAndNaNStays) {
  const float one = 1, eps = 1.0f / 256;
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  uint32_t lowest_nan = 0x7f800001;
  float other_nan;
  std::memcpy(&other_nan, &lowest_nan, sizeof(other_nan));
  const std::vector<float> a = {one + eps, one + 3 * eps, -(one + eps), nan, other_nan, inf};
  std::vector<float> out(6);
  Products().Multiply({a.data(), 6, 1, 1}, {&one, 1, 1, 1}, false, out.data(), 1);
  EXPECT_TRUE(std::isnan(out[3]));
  EXPECT_TRUE(std::isnan(out[4]));
  EXPECT_FALSE(std::isfinite(out[5]));
  if (parts() > 1) return;  // several parts lose nothing, and inf - inf is NaN
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 1.0f + 4 * eps);
  EXPECT_EQ(out[2], -1.0f);
  EXPECT_EQ(out[5], inf);
}

// Some machines flush denormal numbers to zero, so both results are right, and no other.
TEST_P(Bf16ProductsTest, DenormalsAreKeptOrZero) {
  const float small = std::numeric_limits<float>::min() / 4, one = 1;
  float out = 1;
  Products().Multiply({&small, 1, 1, 1}, {&one, 1, 1, 1}, false, &out, 1);
  EXPECT_EQ(out, form() == Bf16Form::kPortable ? small : 0.0f);
}

TEST_P(Bf16ProductsTest, NothingToMultiply) {
  std::vector<float> out(4, 2.0f);
  Bf16Products products = Products();
  products.Multiply({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, true, out.data(), 2);
  EXPECT_EQ(out[3], 2.0f);
  products.Multiply({out.data(), 0, 2, 2}, {out.data(), 2, 2, 2}, false, out.data(), 2);
  products.Multiply({out.data(), 2, 2, 2}, {out.data(), 2, 0, 2}, false, out.data(), 2);
  EXPECT_EQ(out[0], 2.0f);
  products.Multiply({out.data(), 2, 0, 1}, {out.data(), 0, 2, 2}, false, out.data(), 2);
  EXPECT_EQ(out[3], 0.0f);
}

TEST(Bf16FormsTest, TheFastestFirstAndThePortableLast) {
  const std::vector<Bf16Form> forms = Bf16Forms();
  EXPECT_TRUE(std::is_sorted(forms.begin(), forms.end()));
  EXPECT_EQ(forms.back(), Bf16Form::kPortable);
  EXPECT_EQ(Bf16Products().form(), forms.front());
  const std::string instructions = CpuBf16Instructions();
  // The operating system may refuse AMX.
  EXPECT_EQ(Bf16FormName(forms.front()) == "portable", instructions.empty());
  EXPECT_EQ(HasBf16Amx(), forms.front() == Bf16Form::kAmx);
}

TEST(Bf16ProductsDeathTest, SizesMustAgree) {
  std::vector<float> x(6);
  EXPECT_DEATH(Bf16Products().Multiply({x.data(), 2, 3, 3}, {x.data(), 2, 3, 3}, false, x.data(), 3), "3 vs. 2");
}

}  // namespace
}  // namespace rutile
