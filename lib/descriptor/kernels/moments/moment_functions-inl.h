// Radial functions and harmonics of a vector of neighbors. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_FUNCTIONS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_FUNCTIONS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_FUNCTIONS_INL_H_
#endif

#include <cstddef>

#include "lib/descriptor/kernels/moments/moment_tables.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Computes sin and cos of pi x for 0 <= x <= 1. With t = x - 1/2 they are cos(pi t) and -sin(pi t), whose Taylor series
// at |pi t| <= pi/2 have errors below 1e-8 after seven terms and 2e-17 after eleven.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void SinCosPi(D d, V x, V* sine, V* cosine) {
  constexpr double kPi = 3.14159265358979323846;
  constexpr int kTerms = sizeof(T) == 8 ? 11 : 7;
  const V t = hn::Mul(hn::Set(d, T(kPi)), hn::Sub(x, hn::Set(d, T(0.5))));
  const V minus_square = hn::Neg(hn::Mul(t, t));
  V even = hn::Set(d, T(1)), odd = hn::Set(d, T(1));
  for (int k = kTerms - 1; k >= 1; --k) {
    even = hn::MulAdd(hn::Mul(even, hn::Set(d, T(1.0 / ((2 * k - 1) * (2 * k))))), minus_square, hn::Set(d, T(1)));
    odd = hn::MulAdd(hn::Mul(odd, hn::Set(d, T(1.0 / (2 * k * (2 * k + 1))))), minus_square, hn::Set(d, T(1)));
  }
  *sine = even;
  *cosine = hn::Neg(hn::Mul(t, odd));
}

// Computes phi_n(r) and, if kSlopes, phi_n'(r): value[n * stride] and slope[n * stride] are the first lanes. Both bases
// are phi_n = a_n A and phi_n' = k b_n B + a_n C, where a_n and b_n follow the same recurrence: sin and cos of n theta,
// with k = n + 1, or Chebyshev's T_n and U_{n-1}, with k = n.
template <bool kSlopes, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void MomentRadial(D d, const MomentTables<T>& tables, V r, size_t stride, T* value, T* slope) {
  const V one = hn::Set(d, T(1));
  const V x = hn::Min(hn::Mul(r, hn::Set(d, tables.inverse_cutoff)), one);  // so that f of the padding is 0
  const V rest = hn::Sub(one, x), rest_square = hn::Mul(rest, rest);
  V series = hn::Set(d, tables.series[tables.envelope - 1]), power = one;
  for (int k = tables.envelope - 2; k >= 0; --k) {
    series = hn::MulAdd(series, x, hn::Set(d, tables.series[k]));
    if constexpr (kSlopes) power = hn::Mul(power, x);
  }
  const V f = hn::Mul(hn::Mul(rest_square, rest), series);
  const V df = hn::Mul(hn::Mul(hn::Set(d, tables.envelope_slope), power), rest_square);
  V a, a_before, b, b_before, two_cosine, scale, scale_b, scale_a, k;
  if (tables.is_bessel) {
    V sine, cosine;
    SinCosPi(d, x, &sine, &cosine);
    a = sine;
    a_before = hn::Zero(d);
    b = cosine;
    b_before = one;
    two_cosine = hn::Add(cosine, cosine);
    const V inverse = hn::Div(hn::Set(d, tables.bessel_norm), r);
    scale = hn::Mul(inverse, f);
    scale_b = hn::Mul(scale, hn::Set(d, T(3.14159265358979323846) * tables.inverse_cutoff));
    scale_a = hn::Sub(hn::Mul(inverse, df), hn::Div(scale, r));
    k = one;
  } else {
    const V u = hn::Sub(hn::Add(x, x), one);
    a = one;
    a_before = u;
    b = hn::Zero(d);
    b_before = hn::Neg(one);
    two_cosine = hn::Add(u, u);
    scale = f;
    scale_b = hn::Mul(f, hn::Set(d, 2 * tables.inverse_cutoff));
    scale_a = df;
    k = hn::Zero(d);
  }
  for (int n = 0; n < tables.num_radial; ++n) {
    hn::Store(hn::Mul(a, scale), d, value + n * stride);
    const V a_next = hn::MulSub(two_cosine, a, a_before);
    if constexpr (kSlopes) {
      hn::Store(hn::MulAdd(hn::Mul(k, b), scale_b, hn::Mul(a, scale_a)), d, slope + n * stride);
      const V b_next = hn::MulSub(two_cosine, b, b_before);
      b_before = b;
      b = b_next;
      k = hn::Add(k, one);
    }
    a_before = a;
    a = a_next;
  }
}

// The factors of the harmonics up to degree L: q_lm(y), at l (l + 1) / 2 + m, and re + i im = (z + ix)^m.
template <int L, class V>
struct HarmonicFactors {
  V q[(L + 1) * (L + 2) / 2];
  V re[L + 1], im[L + 1];

  static constexpr int At(int l, int m) { return l * (l + 1) / 2 + m; }
};

template <int L, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void ComputeFactors(D d, const MomentTables<T>& tables, V x, V y, V z, HarmonicFactors<L, V>* out) {
  using F = HarmonicFactors<L, V>;
  out->re[0] = hn::Set(d, T(1));
  out->im[0] = hn::Zero(d);
  for (int m = 1; m <= L; ++m) {
    const V re = out->re[m - 1], im = out->im[m - 1];
    out->re[m] = hn::MulSub(z, re, hn::Mul(x, im));
    out->im[m] = hn::MulAdd(z, im, hn::Mul(x, re));
  }
  for (int m = 0; m <= L; ++m) {
    out->q[F::At(m, m)] = hn::Set(d, tables.first[m]);
    for (int l = m + 1; l <= L; ++l) {
      V q = hn::Mul(hn::Mul(hn::Set(d, tables.up[l][m]), y), out->q[F::At(l - 1, m)]);
      if (l > m + 1) q = hn::NegMulAdd(hn::Set(d, tables.down[l][m]), out->q[F::At(l - 2, m)], q);
      out->q[F::At(l, m)] = q;
    }
  }
}

// Returns dq_lm/dy.
template <int L, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE V FactorSlope(D d, const MomentTables<T>& tables, const HarmonicFactors<L, V>& factors, int l, int m) {
  return hn::Mul(hn::Set(d, tables.slope[l][m]), factors.q[factors.At(l, m + 1)]);
}

// Computes all Y_lm, at l l + l + m. out: [(L + 1)^2].
template <int L, class V>
HWY_INLINE void HarmonicValues(const HarmonicFactors<L, V>& factors, V* out) {
  for (int l = 0; l <= L; ++l) {
    out[l * l + l] = factors.q[factors.At(l, 0)];
    for (int m = 1; m <= l; ++m) {
      const V q = factors.q[factors.At(l, m)];
      out[l * l + l + m] = hn::Mul(q, factors.re[m]);
      out[l * l + l - m] = hn::Mul(q, factors.im[m]);
    }
  }
}

// Computes how all Y_lm change when the unit vector changes by (dx, dy, dz), which is orthogonal to it.
template <int L, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void HarmonicChanges(D d, const MomentTables<T>& tables, const HarmonicFactors<L, V>& factors, V dx, V dy,
                                V dz, V* out) {
  out[0] = hn::Zero(d);
  for (int l = 1; l <= L; ++l) out[l * l + l] = hn::Mul(FactorSlope(d, tables, factors, l, 0), dy);
  for (int m = 1; m <= L; ++m) {
    // d(z + ix)^m = m (z + ix)^(m - 1) (dz + i dx)
    const V times = hn::Set(d, T(m)), re = factors.re[m - 1], im = factors.im[m - 1];
    const V d_re = hn::Mul(times, hn::MulSub(re, dz, hn::Mul(im, dx)));
    const V d_im = hn::Mul(times, hn::MulAdd(im, dz, hn::Mul(re, dx)));
    for (int l = m; l <= L; ++l) {
      const V q = factors.q[factors.At(l, m)];
      V by_re = hn::Mul(q, d_re), by_im = hn::Mul(q, d_im);
      if (l > m) {
        const V dq = hn::Mul(FactorSlope(d, tables, factors, l, m), dy);
        by_re = hn::MulAdd(dq, factors.re[m], by_re);
        by_im = hn::MulAdd(dq, factors.im[m], by_im);
      }
      out[l * l + l + m] = by_re;
      out[l * l + l - m] = by_im;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
