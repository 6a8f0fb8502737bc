// Computes f_c together with its derivative. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_CUTOFF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_CUTOFF_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_CUTOFF_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_CUTOFF_INL_H_
#endif

#include <cstddef>
#include <type_traits>

#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The coefficients of q in CosineCutoffOfSquare, from the highest power on; the last is the constant 1.
template <typename T>
struct CutoffFit {
  static constexpr int kSize = 8;
  static constexpr double kFactor[kSize] = {
      -6.3061695616568301e-11, 6.3181196706228311e-9, -4.6476318093539006e-7, 2.4737275041126401e-5,
      -8.9452299813816203e-4,  1.9968957764836131e-2, -2.3370055013616783e-1, 1.0};
};

template <>
struct CutoffFit<float> {
  static constexpr int kSize = 5;
  static constexpr float kFactor[kSize] = {2.3600689581e-5f, -8.9353550146e-4f, 1.9968606207e-2f, -2.3370050625e-1f,
                                           1.0f};
};

template <class V>
struct CutoffValues {
  V value, slope;  // f_c and df_c/dr
};

template <int kTerm, class D, class V>
HWY_INLINE void CutoffPolynomial(D d, V s, V* q, V* slope) {
  using Fit = CutoffFit<hn::TFromD<D>>;
  *slope = hn::MulAdd(*slope, s, *q);
  *q = hn::MulAdd(*q, s, hn::Set(d, Fit::kFactor[kTerm]));
  if constexpr (kTerm + 1 < Fit::kSize) CutoffPolynomial<kTerm + 1>(d, s, q, slope);
}

// Returns f_c = c^2 with c = (1 - s) q(s), s = (r / cutoff)^2, and df_c/dr = 2 c (dc/ds) (2 r / cutoff^2). Both are
// exactly 0 from the cutoff on. inverse_square: 1 / cutoff^2.
template <class D, class V>
HWY_INLINE CutoffValues<V> CutoffWithSlope(D d, V r, hn::TFromD<D> inverse_square) {
  using Fit = CutoffFit<hn::TFromD<D>>;
  const V scaled = hn::Mul(r, hn::Set(d, inverse_square));
  const V s = hn::Mul(r, scaled);
  const V left = hn::Max(hn::Sub(hn::Set(d, 1), s), hn::Zero(d));
  V slope = hn::Set(d, Fit::kFactor[0]);
  V q = hn::MulAdd(slope, s, hn::Set(d, Fit::kFactor[1]));
  CutoffPolynomial<2>(d, s, &q, &slope);
  const V c = hn::Mul(left, q);
  const V by_s = hn::MulSub(left, slope, q);
  return {hn::Mul(c, c), hn::Mul(hn::Mul(c, hn::Set(d, 4)), hn::Mul(by_s, scaled))};
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
