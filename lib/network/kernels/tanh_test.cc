// Measures the error of lib/network/kernels/tanh-inl.h in units in the last place, on every instruction set of this
// machine.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/network/kernels/tanh_test.cc"
#include "hwy/foreach_target.h"
// The order matters: foreach_target.h includes this file again for each target.
#include "lib/machine/simd.h"
#include "lib/network/kernels/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

template <typename T>
void TanhOf(T* values, int n) {
  const hn::ScalableTag<T> d;
  for (int i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(FastTanh(d, hn::LoadU(d, values + i)), d, values + i);
}

void TanhF32(float* values, int n) { TanhOf(values, n); }
void TanhF64(double* values, int n) { TanhOf(values, n); }

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

namespace rutile {
namespace {

HWY_EXPORT(TanhF32);
HWY_EXPORT(TanhF64);

void FastTanhOf(std::vector<float>* values) { HWY_DYNAMIC_DISPATCH(TanhF32)(values->data(), values->size()); }
void FastTanhOf(std::vector<double>* values) { HWY_DYNAMIC_DISPATCH(TanhF64)(values->data(), values->size()); }

template <typename T>
class TanhTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(TanhTest, Types);

// Tests every magnitude from 1e-30 to 30 with both signs.
template <typename T>
std::vector<T> Arguments() {
  std::vector<T> x;
  for (double e = -30; e < 1.48; e += 1e-4) {
    x.push_back(static_cast<T>(std::pow(10.0, e)));
    x.push_back(static_cast<T>(-std::pow(10.0, e)));
  }
  for (int i = 0; i < 400000; ++i) x.push_back(static_cast<T>(i * 5e-5 - 10));
  x.resize((x.size() + 15) / 16 * 16);
  return x;
}

TYPED_TEST(TanhTest, IsWithinFewUnitsOfTheLastPlaceOnEveryTarget) {
  using T = TypeParam;
  const std::vector<T> x = Arguments<T>();
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    std::vector<T> y = x;
    FastTanhOf(&y);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double exact = std::tanh(static_cast<long double>(x[i]));
      int exponent;
      std::frexp(static_cast<double>(exact), &exponent);
      const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
      if (exact != 0) worst = std::max(worst, static_cast<double>(std::abs(y[i] - exact) / unit));
      ASSERT_LE(std::abs(y[i]), T(1) + 2 * std::numeric_limits<T>::epsilon()) << x[i];
    }
    EXPECT_LT(worst, sizeof(T) == 4 ? 8.0 : 3.0) << hwy::TargetName(target);
    this->RecordProperty(hwy::TargetName(target), std::to_string(worst));
  }
  hwy::SetSupportedTargetsForTest(0);
}

TYPED_TEST(TanhTest, KeepsZeroInfinityAndNaN) {
  using T = TypeParam;
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    std::vector<T> x(16, T(0));
    x[1] = std::numeric_limits<T>::infinity();
    x[2] = -x[1];
    x[3] = std::numeric_limits<T>::quiet_NaN();
    x[4] = T(1e30);
    FastTanhOf(&x);
    EXPECT_EQ(x[0], T(0));
    EXPECT_EQ(x[1], T(1));
    EXPECT_EQ(x[2], T(-1));
    EXPECT_TRUE(std::isnan(x[3])) << hwy::TargetName(target);
    EXPECT_EQ(x[4], T(1));
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace rutile
#endif  // HWY_ONCE
