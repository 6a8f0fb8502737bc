// Computes radial sums, slopes and tangents; each SIMD lane is an atom, and a few slots are computed at a time so that
// their recurrences overlap. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_BASIS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_BASIS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_BASIS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_RADIAL_BASIS_INL_H_
#endif

#include <cstddef>

#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/cutoff-inl.h"
#include "lib/descriptor/kernels/radial_sums-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The number of concurrent recurrences, as many as the latency of an FMA and the registers allow.
constexpr int kRadialSlots = HWY_TARGET == HWY_AVX3 ? 4 : 2;

// The recurrences T_n of kSlots slots: current and previous polynomial, and 2x.
template <int kSlots, class V>
struct Recurrence {
  V current[kSlots], previous[kSlots], two_x[kSlots];

  HWY_INLINE void Advance() {
    for (int k = 0; k < kSlots; ++k) {
      const V next = hn::MulSub(two_x[k], current[k], previous[k]);
      previous[k] = current[k];
      current[k] = next;
    }
  }
};

// Adds the sum over slots of T_n(x) f_c to sums[n, lane].
template <int kSlots, class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddRadialSlots(D d, const ChebyshevTables<T>& tables, const T* r, T* sums) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  Recurrence<kSlots, V> t;
  for (int k = 0; k < kSlots; ++k) {
    const V length = hn::Load(d, r + k * lanes);
    t.two_x[k] = hn::MulSub(length, hn::Set(d, tables.rad_scale), hn::Set(d, 2));
    t.current[k] = CosineCutoffOfSquare(d, hn::Mul(hn::Mul(length, length), hn::Set(d, tables.rad_inverse_square)));
    t.previous[k] = hn::Mul(hn::Mul(t.two_x[k], hn::Set(d, T(0.5))), t.current[k]);  // T_{-1} = T_1
  }
  for (int n = 0; n <= tables.rad_order; ++n, sums += lanes) {
    V sum = hn::Load(d, sums);
    for (int k = 0; k < kSlots; ++k) sum = hn::Add(sum, t.current[k]);
    hn::Store(sum, d, sums);
    t.Advance();
  }
}

template <int kSlots, class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE void StartRecurrence(D d, const ChebyshevTables<T>& tables, const V (&r)[kSlots], Recurrence<kSlots, V>* t) {
  for (int k = 0; k < kSlots; ++k) {
    t->two_x[k] = hn::MulSub(r[k], hn::Set(d, tables.rad_scale), hn::Set(d, 2));
    t->current[k] = hn::Set(d, 1);
    t->previous[k] = hn::Mul(t->two_x[k], hn::Set(d, T(0.5)));  // T_{-1} = T_1
  }
}

// Computes along[lane] = d/dr of f_c P for each slot, with P = sum_n value[n, lane] T_n(x) and dP/dr = sum_n slope[n,
// lane] T_n(x).
template <int kSlots, class D, typename T = hn::TFromD<D>>
HWY_INLINE void RadialSlopeSlots(D d, const ChebyshevTables<T>& tables, const T* r, const T* value, const T* slope,
                                 T* along) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  V length[kSlots], sum[kSlots], by_r[kSlots];
  for (int k = 0; k < kSlots; ++k) {
    length[k] = hn::Load(d, r + k * lanes);
    sum[k] = by_r[k] = hn::Zero(d);
  }
  Recurrence<kSlots, V> t;
  StartRecurrence(d, tables, length, &t);
  for (int n = 0; n <= tables.rad_order; ++n, value += lanes, slope += lanes) {
    const V w = hn::Load(d, value), c = hn::Load(d, slope);
    for (int k = 0; k < kSlots; ++k) {
      sum[k] = hn::MulAdd(w, t.current[k], sum[k]);
      by_r[k] = hn::MulAdd(c, t.current[k], by_r[k]);
    }
    t.Advance();
  }
  for (int k = 0; k < kSlots; ++k) {
    const CutoffValues<V> f = CutoffWithSlope(d, length[k], tables.rad_inverse_square);
    hn::Store(hn::MulAdd(f.value, by_r[k], hn::Mul(f.slope, sum[k])), d, along + k * lanes);
  }
}

// Adds the sum of T_n(x) df_c/dr rdot to value[n, lane], and the sum of T_n(x) f_c dx/dr rdot to slope[n, lane].
template <int kSlots, class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddRadialTangentSlots(D d, const ChebyshevTables<T>& tables, const T* r, const T* r_dot, T* value,
                                      T* slope) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  V length[kSlots], by_value[kSlots], by_slope[kSlots];
  for (int k = 0; k < kSlots; ++k) {
    length[k] = hn::Load(d, r + k * lanes);
    const V dot = hn::Load(d, r_dot + k * lanes);
    const CutoffValues<V> f = CutoffWithSlope(d, length[k], tables.rad_inverse_square);
    by_value[k] = hn::Mul(f.slope, dot);
    by_slope[k] = hn::Mul(f.value, hn::Mul(dot, hn::Set(d, tables.rad_scale * T(0.5))));
  }
  Recurrence<kSlots, V> t;
  StartRecurrence(d, tables, length, &t);
  for (int n = 0; n <= tables.rad_order; ++n, value += lanes, slope += lanes) {
    V a = hn::Load(d, value), b = hn::Load(d, slope);
    for (int k = 0; k < kSlots; ++k) {
      a = hn::MulAdd(t.current[k], by_value[k], a);
      b = hn::MulAdd(t.current[k], by_slope[k], b);
    }
    hn::Store(a, d, value);
    hn::Store(b, d, slope);
    t.Advance();
  }
}

// Apply the three functions above to `count` slots.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void AddRadial(D d, const ChebyshevTables<T>& tables, const T* r, size_t count, T* sums) {
  const size_t lanes = hn::Lanes(d);
  for (; count >= kRadialSlots; count -= kRadialSlots, r += kRadialSlots * lanes) {
    AddRadialSlots<kRadialSlots>(d, tables, r, sums);
  }
  if (kRadialSlots > 2 && count == 3) return AddRadialSlots<3>(d, tables, r, sums);
  if (kRadialSlots > 2 && count == 2) return AddRadialSlots<2>(d, tables, r, sums);
  if (count == 1) AddRadialSlots<1>(d, tables, r, sums);
}

template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void RadialSlope(D d, const ChebyshevTables<T>& tables, const T* r, size_t count, const T* value,
                              const T* slope, T* along) {
  const size_t step = kRadialSlots * hn::Lanes(d);
  for (; count >= kRadialSlots; count -= kRadialSlots, r += step, along += step) {
    RadialSlopeSlots<kRadialSlots>(d, tables, r, value, slope, along);
  }
  if (kRadialSlots > 2 && count == 3) return RadialSlopeSlots<3>(d, tables, r, value, slope, along);
  if (kRadialSlots > 2 && count == 2) return RadialSlopeSlots<2>(d, tables, r, value, slope, along);
  if (count == 1) RadialSlopeSlots<1>(d, tables, r, value, slope, along);
}

template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void AddRadialTangent(D d, const ChebyshevTables<T>& tables, const T* r, const T* r_dot, size_t count,
                                   T* value, T* slope) {
  const size_t step = kRadialSlots * hn::Lanes(d);
  for (; count >= kRadialSlots; count -= kRadialSlots, r += step, r_dot += step) {
    AddRadialTangentSlots<kRadialSlots>(d, tables, r, r_dot, value, slope);
  }
  if (kRadialSlots > 2 && count == 3) return AddRadialTangentSlots<3>(d, tables, r, r_dot, value, slope);
  if (kRadialSlots > 2 && count == 2) return AddRadialTangentSlots<2>(d, tables, r, r_dot, value, slope);
  if (count == 1) AddRadialTangentSlots<1>(d, tables, r, r_dot, value, slope);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
