// Computes the hyperbolic tangent of a SIMD vector. Highway compiles this file once for each instruction set.
//
// fp32 uses x P(x^2) / Q(x^2) with P and Q of degree 4, our own minimax fit of the relative error (2.1e-8) on |x| <=
// 9.02, beyond which the result rounds to 1; errors are within 7 units in the last place. fp64 uses e^(2|x|) - 1, so
// that small x lose no digits; errors are within 3 units (tanh_test measures both). NaN stays NaN.

// Read again for each target.
#if defined(RUTILE_LIB_NETWORK_KERNELS_TANH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_NETWORK_KERNELS_TANH_INL_H_
#undef RUTILE_LIB_NETWORK_KERNELS_TANH_INL_H_
#else
#define RUTILE_LIB_NETWORK_KERNELS_TANH_INL_H_
#endif

#include <cstdint>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, HWY_IF_LANE_SIZE(hn::TFromD<D>, 4)>
HWY_INLINE hn::Vec<D> FastTanh(D d, hn::Vec<D> x) {
  // The constant comes first in Min and Max: x86 returns the second operand where one is NaN.
  x = hn::Max(hn::Set(d, -9.02f), hn::Min(hn::Set(d, 9.02f), x));
  const auto u = hn::Mul(x, x);
  auto p = hn::Set(d, 1.331903759398333e-08f);
  p = hn::MulAdd(p, u, hn::Set(d, 2.058346026553007e-05f));
  p = hn::MulAdd(p, u, hn::Set(d, 3.4940335163676384e-03f));
  p = hn::MulAdd(p, u, hn::Set(d, 1.3379717158012802e-01f));
  p = hn::MulAdd(p, u, hn::Set(d, 1.0f));
  auto q = hn::Set(d, 7.762006393504573e-07f);
  q = hn::MulAdd(q, u, hn::Set(d, 3.2830909554063415e-04f));
  q = hn::MulAdd(q, u, hn::Set(d, 2.587106952241712e-02f));
  q = hn::MulAdd(q, u, hn::Set(d, 4.671303240220485e-01f));
  q = hn::MulAdd(q, u, hn::Set(d, 1.0f));
  return hn::Div(hn::Mul(x, p), q);
}

template <class D, HWY_IF_LANE_SIZE(hn::TFromD<D>, 8)>
HWY_INLINE hn::Vec<D> FastTanh(D d, hn::Vec<D> x) {
  const hn::Repartition<int64_t, D> di;
  const auto magnitude = hn::Abs(x);
  const auto y = hn::Mul(hn::Set(d, 2.0), hn::Min(hn::Set(d, 20.0), magnitude));  // tanh(20) rounds to 1
  // y = n ln2 + r. Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
  const auto magic = hn::Set(d, 6755399441055744.0);
  const auto shifted = hn::MulAdd(y, hn::Set(d, 1.4426950408889634), magic);
  const auto n = hn::Sub(shifted, magic);
  // the upper 33 bits of ln2: n times it is exact
  auto r = hn::NegMulAdd(n, hn::Set(d, 6.93147180369123816490e-01), y);
  r = hn::NegMulAdd(n, hn::Set(d, 1.90821492927058770002e-10), r);
  const auto power = hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, int64_t{1023}))));
  // e^r - 1 by Taylor's series: |r| <= 0.3466, and the first term left out is 1.2e-17 of the sum.
  auto p = hn::Set(d, 1.0 / 6227020800.0);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 479001600.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 39916800.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 3628800.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 362880.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 40320.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 5040.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 720.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 120.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 24.0));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0 / 6.0));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5));
  p = hn::MulAdd(hn::Mul(p, r), r, r);
  const auto expm1 = hn::MulAdd(power, p, hn::Sub(power, hn::Set(d, 1.0)));
  return hn::CopySign(hn::Div(expm1, hn::Add(expm1, hn::Set(d, 2.0))), x);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
