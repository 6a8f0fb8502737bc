// Sums over the neighbors of an atom: features from radial functions and harmonics, and slopes from derivatives by the
// features. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_SUMS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_SUMS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_MOMENTS_MOMENT_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "lib/descriptor/kernels/moments/moment_functions-inl.h"
#include "lib/descriptor/kernels/transpose-inl.h"
#include "lib/machine/simd.h"

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

// Sums of slopes for a vector of neighbors: dE/dr, and dE/du without regard to |u| = 1.
template <class V>
struct SlopeSums {
  V along, x, y, z;
};

// Adds the harmonics l m and l -m of one order m = M and all degrees l >= M. All their sums over n run side by side,
// since a sum alone would wait for the FMA before. q: [N, (L + 1)^2] dE/dB; phi, phi_slope: [N, lanes].
template <int L, int M, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE void AddOrder(D d, const MomentTables<T>& tables, const T* q, const T* phi, const T* phi_slope,
                         const HarmonicFactors<L, V>& factors, SlopeSums<V>* sums) {
  constexpr int kDegrees = L - M + 1, kSigns = M == 0 ? 1 : 2, kHarmonics = (L + 1) * (L + 1);
  const size_t lanes = hn::Lanes(d);
  V value[kDegrees][kSigns], slope[kDegrees][kSigns];  // sums over n of q phi and q phi', for Re and Im
  for (int k = 0; k < kDegrees; ++k) {
    for (int c = 0; c < kSigns; ++c) value[k][c] = slope[k][c] = hn::Zero(d);
  }
  for (int n = 0; n < tables.num_radial; ++n) {
    const V p = hn::Load(d, phi + n * lanes), s = hn::Load(d, phi_slope + n * lanes);
    for (int k = 0; k < kDegrees; ++k) {
      const T* const center = q + n * kHarmonics + (M + k) * (M + k + 1);
      for (int c = 0; c < kSigns; ++c) {
        const V weight = hn::Set(d, center[c == 0 ? M : -M]);
        value[k][c] = hn::MulAdd(weight, p, value[k][c]);
        slope[k][c] = hn::MulAdd(weight, s, slope[k][c]);
      }
    }
  }
  V by_factor[kSigns], tilt[kSigns],
      along[kSigns];  // sums over l with q_lm, with dq_lm/dy, and of the slopes with q_lm
  for (int c = 0; c < kSigns; ++c) {
    const V first = factors.q[factors.At(M, M)];
    by_factor[c] = hn::Mul(first, value[0][c]);
    along[c] = hn::Mul(first, slope[0][c]);
    tilt[c] = hn::Zero(d);
    for (int k = 1; k < kDegrees; ++k) {
      const V f = factors.q[factors.At(M + k, M)];
      by_factor[c] = hn::MulAdd(f, value[k][c], by_factor[c]);
      along[c] = hn::MulAdd(f, slope[k][c], along[c]);
      tilt[c] = hn::MulAdd(FactorSlope(d, tables, factors, M + k, M), value[k][c], tilt[c]);
    }
  }
  sums->along = hn::MulAdd(along[0], factors.re[M], sums->along);
  sums->y = hn::MulAdd(tilt[0], factors.re[M], sums->y);
  if constexpr (M > 0) {
    sums->along = hn::MulAdd(along[1], factors.im[M], sums->along);
    sums->y = hn::MulAdd(tilt[1], factors.im[M], sums->y);
    // d(z + ix)^m = m (z + ix)^(m - 1) (dz + i dx)
    const V times = hn::Set(d, T(M)), re = factors.re[M - 1], im = factors.im[M - 1];
    sums->z = hn::MulAdd(times, hn::MulAdd(by_factor[0], re, hn::Mul(by_factor[1], im)), sums->z);
    sums->x = hn::MulAdd(times, hn::MulSub(by_factor[1], re, hn::Mul(by_factor[0], im)), sums->x);
  }
}

// Sums slopes over the features of one species.
template <int L, class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE MomentSlope<V> SumSlopes(D d, const MomentTables<T>& tables, const T* q, const T* phi, const T* phi_slope,
                                    V x, V y, V z, V r) {
  HarmonicFactors<L, V> factors;
  ComputeFactors<L>(d, tables, x, y, z, &factors);
  SlopeSums<V> sums = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  AddOrder<L, 0>(d, tables, q, phi, phi_slope, factors, &sums);
  if constexpr (L >= 1) AddOrder<L, 1>(d, tables, q, phi, phi_slope, factors, &sums);
  if constexpr (L >= 2) AddOrder<L, 2>(d, tables, q, phi, phi_slope, factors, &sums);
  if constexpr (L >= 3) AddOrder<L, 3>(d, tables, q, phi, phi_slope, factors, &sums);
  if constexpr (L >= 4) AddOrder<L, 4>(d, tables, q, phi, phi_slope, factors, &sums);
  // dE/dr u + (g - u (u . g)) / r, with g = dE/du
  const V inverse = hn::Div(hn::Set(d, T(1)), r);
  const V radial_part = hn::MulAdd(sums.x, x, hn::MulAdd(sums.y, y, hn::Mul(sums.z, z)));
  const V by_unit = hn::NegMulAdd(radial_part, inverse, sums.along);
  return {hn::MulAdd(sums.x, inverse, hn::Mul(by_unit, x)), hn::MulAdd(sums.y, inverse, hn::Mul(by_unit, y)),
          hn::MulAdd(sums.z, inverse, hn::Mul(by_unit, z))};
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
