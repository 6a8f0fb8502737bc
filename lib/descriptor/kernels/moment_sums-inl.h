// Sums over the neighbors of an atom: features from radial functions and harmonics, and slopes from derivatives by the
// features. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENT_SUMS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENT_SUMS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENT_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "lib/base/simd.h"
#include "lib/descriptor/kernels/moment_functions-inl.h"
#include "lib/descriptor/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// Stores harmonics as rows, one for each lane: rows[lane * row + k] = v[k]. v: kCount vectors, a multiple of the lanes.
template <int kCount, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void StoreHarmonics(D d, const V (&v)[kCount], size_t row, T* rows) {
  constexpr int kLanes = ConstantLanes(D());
  static_assert(kCount % kLanes == 0, "whole blocks");
  for (int at = 0; at < kCount; at += kLanes) {
    V block[kLanes];
    for (int k = 0; k < kLanes; ++k) block[k] = v[at + k];
    Transpose(d, block);
    for (int k = 0; k < kLanes; ++k) hn::Store(block[k], d, rows + k * row + at);
  }
}

// The factors of a sum over neighbors: weight[n, stride] and rows[element, row].
template <typename T>
struct OuterTerm {
  const T* weight;
  const T* rows;
};

// out[n, k] = sum over neighbors of weight[n] times row[k], for kRadial functions and kVectors vectors of harmonics, of
// which `width` are stored. With kTwo, a second term is added.
template <int kRadial, int kVectors, bool kTwo, class D, typename T = hn::TFromD<D>>
HWY_INLINE void OuterTile(D d, OuterTerm<T> a, OuterTerm<T> b, size_t stride, size_t row, size_t count, size_t width,
                          size_t out_row, T* out) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  V sum[kRadial][kVectors];
  for (int n = 0; n < kRadial; ++n) {
    for (int v = 0; v < kVectors; ++v) sum[n][v] = hn::Zero(d);
  }
  for (size_t e = 0; e < count; ++e) {
    V y[kVectors];
    for (int v = 0; v < kVectors; ++v) y[v] = hn::Load(d, a.rows + e * row + v * lanes);
    for (int n = 0; n < kRadial; ++n) {
      const V w = hn::Set(d, a.weight[n * stride + e]);
      for (int v = 0; v < kVectors; ++v) sum[n][v] = hn::MulAdd(w, y[v], sum[n][v]);
    }
    if constexpr (kTwo) {
      for (int v = 0; v < kVectors; ++v) y[v] = hn::Load(d, b.rows + e * row + v * lanes);
      for (int n = 0; n < kRadial; ++n) {
        const V w = hn::Set(d, b.weight[n * stride + e]);
        for (int v = 0; v < kVectors; ++v) sum[n][v] = hn::MulAdd(w, y[v], sum[n][v]);
      }
    }
  }
  HWY_ALIGN T buffer[HWY_LANES(T)];
  for (int n = 0; n < kRadial; ++n) {
    for (int v = 0; v < kVectors; ++v) {
      T* const to = out + n * out_row + v * lanes;
      if ((v + 1) * lanes <= width) {
        hn::StoreU(sum[n][v], d, to);
      } else {
        hn::Store(sum[n][v], d, buffer);
        for (size_t k = 0; k < lanes && v * lanes + k < width; ++k) to[k] = buffer[k];
      }
    }
  }
}

// out: [num_radial, harmonics], overwritten.
template <int kVectors, bool kTwo, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void OuterColumns(D d, OuterTerm<T> a, OuterTerm<T> b, size_t stride, size_t row, size_t count, int radial,
                               size_t width, size_t out_row, T* out) {
  // Eight independent sums hide the latency of an FMA.
  constexpr int kTile = 8 / kVectors;
  int n = 0;
  for (; n + kTile <= radial; n += kTile) {
    OuterTile<kTile, kVectors, kTwo>(d, a, b, stride, row, count, width, out_row, out + n * out_row);
    a.weight += kTile * stride;
    b.weight += kTile * stride;
  }
  for (; n < radial; ++n) {
    OuterTile<1, kVectors, kTwo>(d, a, b, stride, row, count, width, out_row, out + n * out_row);
    a.weight += stride;
    b.weight += stride;
  }
}

template <bool kTwo, typename T>
HWY_INLINE void OuterSums(const MomentTables<T>& tables, OuterTerm<T> a, OuterTerm<T> b, size_t stride, size_t count,
                          T* out) {
  const hn::CappedTag<T, kMomentRowUnit> d;
  const size_t lanes = hn::Lanes(d), harmonics = tables.num_harmonics, row = tables.row;
  if (count == 0) {
    std::fill_n(out, tables.num_radial * harmonics, T(0));
    return;
  }
  size_t k = 0;
  for (; k + lanes < harmonics; k += 2 * lanes) {
    OuterColumns<2, kTwo>(d, {a.weight, a.rows + k}, {b.weight, b.rows + k}, stride, row, count, tables.num_radial,
                          std::min(harmonics - k, 2 * lanes), harmonics, out + k);
  }
  if (k >= harmonics) return;
  OuterColumns<1, kTwo>(d, {a.weight, a.rows + k}, {b.weight, b.rows + k}, stride, row, count, tables.num_radial,
                        harmonics - k, harmonics, out + k);
}

// The derivative of an atom's energy by r_ij, for a vector of neighbors.
template <class V>
struct MomentSlope {
  V x, y, z;
};

// Sums slopes over the features of one species. q: [N, (L + 1)^2] dE/dB; phi, phi_slope: [N, lanes].
template <int L, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE MomentSlope<V> SumSlopes(D d, const MomentTables<T>& tables, const T* q, const T* phi, const T* phi_slope,
                                    V x, V y, V z, V r) {
  constexpr int kHarmonics = (L + 1) * (L + 1);
  const size_t lanes = hn::Lanes(d);
  const int radial = tables.num_radial;
  HarmonicFactors<L, V> factors;
  ComputeFactors<L>(d, tables, x, y, z, &factors);
  V along = hn::Zero(d);  // dE/dr
  V gx = hn::Zero(d), gy = hn::Zero(d), gz = hn::Zero(d);
  for (int l = 0; l <= L; ++l) {
    V value = hn::Zero(d), slope = hn::Zero(d);
    for (int n = 0; n < radial; ++n) {
      const V c = hn::Set(d, q[n * kHarmonics + l * l + l]);
      value = hn::MulAdd(c, hn::Load(d, phi + n * lanes), value);
      slope = hn::MulAdd(c, hn::Load(d, phi_slope + n * lanes), slope);
    }
    along = hn::MulAdd(slope, factors.q[factors.At(l, 0)], along);
    if (l > 0) gy = hn::MulAdd(value, FactorSlope(d, tables, factors, l, 0), gy);
  }
  for (int m = 1; m <= L; ++m) {
    V re = hn::Zero(d), im = hn::Zero(d);              // sums over l of q_lm sum q phi
    V re_tilt = hn::Zero(d), im_tilt = hn::Zero(d);    // with dq_lm/dy
    V re_along = hn::Zero(d), im_along = hn::Zero(d);  // with phi'
    for (int l = m; l <= L; ++l) {
      const T* const at = q + l * l + l;
      V value_re = hn::Zero(d), value_im = hn::Zero(d), slope_re = hn::Zero(d), slope_im = hn::Zero(d);
      for (int n = 0; n < radial; ++n) {
        const V c_re = hn::Set(d, at[n * kHarmonics + m]), c_im = hn::Set(d, at[n * kHarmonics - m]);
        const V p = hn::Load(d, phi + n * lanes), s = hn::Load(d, phi_slope + n * lanes);
        value_re = hn::MulAdd(c_re, p, value_re);
        value_im = hn::MulAdd(c_im, p, value_im);
        slope_re = hn::MulAdd(c_re, s, slope_re);
        slope_im = hn::MulAdd(c_im, s, slope_im);
      }
      const V f = factors.q[factors.At(l, m)];
      re = hn::MulAdd(f, value_re, re);
      im = hn::MulAdd(f, value_im, im);
      re_along = hn::MulAdd(f, slope_re, re_along);
      im_along = hn::MulAdd(f, slope_im, im_along);
      if (l > m) {
        const V df = FactorSlope(d, tables, factors, l, m);
        re_tilt = hn::MulAdd(df, value_re, re_tilt);
        im_tilt = hn::MulAdd(df, value_im, im_tilt);
      }
    }
    along = hn::MulAdd(re_along, factors.re[m], hn::MulAdd(im_along, factors.im[m], along));
    gy = hn::MulAdd(re_tilt, factors.re[m], hn::MulAdd(im_tilt, factors.im[m], gy));
    const V times = hn::Set(d, T(m)), p_re = factors.re[m - 1], p_im = factors.im[m - 1];
    gz = hn::MulAdd(times, hn::MulAdd(re, p_re, hn::Mul(im, p_im)), gz);
    gx = hn::MulAdd(times, hn::MulSub(im, p_re, hn::Mul(re, p_im)), gx);
  }
  // dE/dr u + (g - u (u . g)) / r
  const V inverse = hn::Div(hn::Set(d, T(1)), r);
  const V radial_part = hn::MulAdd(gx, x, hn::MulAdd(gy, y, hn::Mul(gz, z)));
  const V by_unit = hn::NegMulAdd(radial_part, inverse, along);
  return {hn::MulAdd(gx, inverse, hn::Mul(by_unit, x)), hn::MulAdd(gy, inverse, hn::Mul(by_unit, y)),
          hn::MulAdd(gz, inverse, hn::Mul(by_unit, z))};
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
