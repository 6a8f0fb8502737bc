// Measures the error of lib/matrix/exp-inl.h in units of the last place, on every instruction set of this machine.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/matrix/exp_test.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include "lib/machine/simd.h"
#include "lib/matrix/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

template <typename T>
void ExpOf(T* values, int n) {
  const hn::ScalableTag<T> d;
  for (int i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(ExpOfNegative(d, hn::LoadU(d, values + i)), d, values + i);
}

void ExpF32(float* values, int n) { ExpOf(values, n); }
void ExpF64(double* values, int n) { ExpOf(values, n); }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "lib/testing/for_each_target.h"

namespace rutile {
namespace {

HWY_EXPORT(ExpF32);
HWY_EXPORT(ExpF64);

void FastExp(std::vector<float>* values) { HWY_DYNAMIC_DISPATCH(ExpF32)(values->data(), values->size()); }
void FastExp(std::vector<double>* values) { HWY_DYNAMIC_DISPATCH(ExpF64)(values->data(), values->size()); }

template <typename T>
class ExpTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ExpTest, Types);

TYPED_TEST(ExpTest, IsWithinTwoUnitsOfTheLastPlaceOnEveryTarget) {
  using T = TypeParam;
  const T lowest = sizeof(T) == 4 ? -87 : -708;
  std::vector<T> x;
  for (double e = -30; e < std::log10(-lowest); e += 1e-4) x.push_back(static_cast<T>(-std::pow(10.0, e)));
  for (int i = 0; i < 400000; ++i) x.push_back(static_cast<T>(i * 2.5e-6 * lowest));
  x.resize(x.size() / 16 * 16);
  ForEachTarget([&] {
    std::vector<T> y = x;
    FastExp(&y);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double exact = std::exp(static_cast<long double>(x[i]));
      int exponent;
      std::frexp(static_cast<double>(exact), &exponent);
      const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
      worst = std::max(worst, static_cast<double>(std::abs(y[i] - exact) / unit));
      ASSERT_LE(y[i], T(1)) << x[i];
    }
    EXPECT_LT(worst, 2.0);
  });
}

TYPED_TEST(ExpTest, KeepsZeroInfinityAndNaN) {
  using T = TypeParam;
  ForEachTarget([] {
    std::vector<T> x(16, T(0));
    x[1] = -T(0);
    x[2] = -std::numeric_limits<T>::infinity();
    x[3] = std::numeric_limits<T>::quiet_NaN();
    x[4] = T(-1e30);
    FastExp(&x);
    EXPECT_EQ(x[0], T(1));
    EXPECT_EQ(x[1], T(1));
    EXPECT_GE(x[2], T(0));
    EXPECT_LT(x[2], T(1e-37));
    EXPECT_TRUE(std::isnan(x[3]));
    EXPECT_LT(x[4], T(1e-37));
  });
}

}  // namespace
}  // namespace rutile
#endif  // HWY_ONCE
