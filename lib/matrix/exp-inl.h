// Computes e^x of x <= 0, for kernels that Highway compiles for each instruction set.
//
// e^x = 2^n e^r with |r| <= ln2 / 2. fp32: e^r = 1 + r + r^2 P(r), P of degree 4, our own minimax fit of the relative
// error (3.6e-9); fp64: Taylor's series up to r^13. Within 2 units in the last place of the exact value (exp_test
// measures it). Below -87 (fp64: -708) the result is e^-87 (e^-708), the smallest that is not denormal: nothing is lost
// where it is added to 1. NaN stays NaN.

// Highway includes this file once for each target.
#if defined(RUTILE_LIB_MATRIX_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_MATRIX_EXP_INL_H_
#undef RUTILE_LIB_MATRIX_EXP_INL_H_
#else
#define RUTILE_LIB_MATRIX_EXP_INL_H_
#endif

#include <cstdint>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, HWY_IF_LANE_SIZE(hn::TFromD<D>, 4)>
HWY_INLINE hn::Vec<D> ExpOfNegative(D d, hn::Vec<D> x) {
  const hn::Repartition<int32_t, D> di;
  const auto lowest = hn::Set(d, -87.0f);
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);  // Max may lose a NaN
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  const auto magic = hn::Set(d, 12582912.0f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693145752f), x);  // ln2, its upper 15 bits: n * it is exact
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), r);
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, 127))));
  auto p = hn::Set(d, 0.001381454f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.008368745f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.04166839f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.16666521f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.49999994f));
  p = hn::MulAdd(hn::Mul(p, r), r, r);
  return hn::MulAdd(power, p, power);
}

template <class D, HWY_IF_LANE_SIZE(hn::TFromD<D>, 8)>
HWY_INLINE hn::Vec<D> ExpOfNegative(D d, hn::Vec<D> x) {
  const hn::Repartition<int64_t, D> di;
  const auto lowest = hn::Set(d, -708.0);
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  const auto magic = hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.4426950408889634), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 6.93147180369123816490e-01), x);  // ln2, its upper 33 bits
  r = hn::NegMulAdd(n, hn::Set(d, 1.90821492927058770002e-10), r);
  const auto power = hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(hn::BitCast(di, shifted), hn::Set(di, int64_t{1023}))));
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
  return hn::MulAdd(power, p, power);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
