// Computes B_lm = sum_j f_c(r_j) q_lm(z_j) (x_j + i y_j)^m of chebyshev_tables.h for one atom; each SIMD lane is a
// neighbor. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_SUMS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_SUMS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_ANGULAR_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/radial_sums-inl.h"
#include "lib/descriptor/kernels/vector_sums-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// The neighbors of one species within ang_cutoff: r_ij on input, padded to whole vectors with z = tables.ang_padding.
template <typename T>
struct AngularNeighbors {
  T *x, *y, *z;
  size_t count;
};

// Scratch memory for one species at a time: f_c times the real and imaginary part of (x + iy)^m, and two degrees of
// q_lm.
template <typename T>
struct AngularState {
  T *real, *imaginary, *current, *previous;
};

template <class D>
struct Direction {
  hn::Vec<D> x, y, z, cutoff;  // x, y, z are a unit vector; cutoff is f_c
};

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE Direction<D> DirectionOf(D d, const ChebyshevTables<T>& tables, const AngularNeighbors<T>& from, size_t p) {
  const auto x = hn::Load(d, from.x + p), y = hn::Load(d, from.y + p), z = hn::Load(d, from.z + p);
  const auto r2 = hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z)));
  const auto inverse = hn::Div(hn::Set(d, 1), hn::Sqrt(r2));
  return {hn::Mul(x, inverse), hn::Mul(y, inverse), hn::Mul(z, inverse),
          CosineCutoffOfSquare(d, hn::Mul(r2, hn::Set(d, tables.ang_inverse_square)))};
}

// The number of harmonics of one m: real parts of l = m .. order, and imaginary parts if m > 0.
constexpr int HarmonicsOf(int order, int m) { return (m == 0 ? 1 : 2) * (order - m + 1); }

// The number of harmonics with m in [begin, end).
constexpr int HarmonicsIn(int order, int begin, int end) {
  int count = 0;
  for (int m = begin; m < end; ++m) count += HarmonicsOf(order, m);
  return count;
}

// The end of the longest range of m from `begin` whose accumulators fit in the registers.
constexpr int RangeEnd(int order, int begin) {
  int end = begin + 1;
  while (end <= order && HarmonicsIn(order, begin, end + 1) <= kAccumulators) ++end;
  return end;
}

// Adds to sums[kAt + l - m] the real parts of q_lm and, behind them, the imaginary parts, for l = kDegree .. kOrder.
template <int kOrder, int kM, int kDegree, int kAt, int kCount, class D, class V>
HWY_INLINE void AddDegrees(D d, V two_z, V real, V imaginary, V previous, V current, V (&sums)[kCount]) {
  constexpr int kReal = kAt + kDegree - kM, kImaginary = kReal + kOrder - kM + 1;
  V next;
  if constexpr (kDegree == kM) {  // q = 1
    sums[kReal] = hn::Add(sums[kReal], real);
    if constexpr (kM > 0) sums[kImaginary] = hn::Add(sums[kImaginary], imaginary);
    next = two_z;
  } else {
    sums[kReal] = hn::MulAdd(real, current, sums[kReal]);
    if constexpr (kM > 0) sums[kImaginary] = hn::MulAdd(imaginary, current, sums[kImaginary]);
    constexpr auto kFactor = static_cast<hn::TFromD<D>>(HarmonicRecurrence(kDegree, kM));
    if constexpr (kDegree == kM + 1) {
      next = hn::MulSub(two_z, current, hn::Set(d, kFactor));
    } else {
      next = hn::NegMulAdd(hn::Set(d, kFactor), previous, hn::Mul(two_z, current));
    }
  }
  if constexpr (kDegree < kOrder) {
    AddDegrees<kOrder, kM, kDegree + 1, kAt>(d, two_z, real, imaginary, current, next, sums);
  }
}

// Advances from f (x + iy)^m to the next m.
template <class V>
HWY_INLINE void RaiseM(V x, V y, V* real, V* imaginary) {
  const V old = *real;
  *real = hn::NegMulAdd(*imaginary, y, hn::Mul(old, x));
  *imaginary = hn::MulAdd(*imaginary, x, hn::Mul(old, y));
}

template <int kOrder, int kM, int kEnd, int kAt, int kCount, class D, class V>
HWY_INLINE void AddRange(D d, V x, V y, V two_z, V* real, V* imaginary, V (&sums)[kCount]) {
  AddDegrees<kOrder, kM, kM, kAt>(d, two_z, *real, *imaginary, *real, *real, sums);
  if constexpr (kM == 0) {
    *imaginary = hn::Mul(*real, y);
    *real = hn::Mul(*real, x);
  } else if constexpr (kM < kOrder) {
    RaiseM(x, y, real, imaginary);
  }
  if constexpr (kM + 1 < kEnd) {
    AddRange<kOrder, kM + 1, kEnd, kAt + HarmonicsOf(kOrder, kM)>(d, x, y, two_z, real, imaginary, sums);
  }
}

// Adds all harmonics from m = kBegin on. Returns the sum of f_c^2 from the range that starts at m = 0.
template <int kOrder, int kBegin = 0, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE T AddHarmonics(D d, const ChebyshevTables<T>& tables, const AngularNeighbors<T>& from,
                            const AngularState<T>& state, T weight, WeightedSums<T> to) {
  using V = hn::Vec<D>;
  constexpr int kEnd = RangeEnd(kOrder, kBegin), kCount = HarmonicsIn(kOrder, kBegin, kEnd);
  V sums[kCount];
  for (int k = 0; k < kCount; ++k) sums[k] = hn::Zero(d);
  V self = hn::Zero(d);
  for (size_t p = 0; p < from.count; p += LaneCount(d)) {
    V x, y, two_z, real, imaginary;
    if constexpr (kBegin == 0) {
      const Direction<D> unit = DirectionOf(d, tables, from, p);
      x = unit.x;
      y = unit.y;
      two_z = hn::Add(unit.z, unit.z);
      real = imaginary = unit.cutoff;
      self = hn::MulAdd(unit.cutoff, unit.cutoff, self);
      if constexpr (kEnd <= kOrder) {
        hn::Store(x, d, from.x + p);
        hn::Store(y, d, from.y + p);
        hn::Store(two_z, d, from.z + p);
      }
    } else {
      x = hn::Load(d, from.x + p);
      y = hn::Load(d, from.y + p);
      two_z = hn::Load(d, from.z + p);
      real = hn::Load(d, state.real + p);
      imaginary = hn::Load(d, state.imaginary + p);
    }
    AddRange<kOrder, kBegin, kEnd, 0>(d, x, y, two_z, &real, &imaginary, sums);
    if constexpr (kEnd <= kOrder) {
      hn::Store(real, d, state.real + p);
      hn::Store(imaginary, d, state.imaginary + p);
    }
  }
  AddSums(d, sums, weight, to);
  if constexpr (kEnd <= kOrder) {
    AddHarmonics<kOrder, kEnd>(d, tables, from, state, weight,
                               {to.plain + kCount, to.spin == nullptr ? nullptr : to.spin + kCount});
  }
  if constexpr (kBegin == 0) return hn::GetLane(hn::SumOfLanes(d, self));
  return 0;
}

// Adds kDegrees degrees of one m from l on, for high orders: recurrence factors and q_lm pass through memory.
template <int kDegrees, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void AddHarmonicChunk(D d, const T* factor, bool first, bool last, const AngularNeighbors<T>& unit,
                                   const AngularState<T>& state, T weight, WeightedSums<T> to_real,
                                   WeightedSums<T> to_imaginary) {
  using V = hn::Vec<D>;
  V real_sums[kDegrees], imaginary_sums[kDegrees];
  for (int k = 0; k < kDegrees; ++k) real_sums[k] = imaginary_sums[k] = hn::Zero(d);
  for (size_t p = 0; p < unit.count; p += LaneCount(d)) {
    const V two_z = hn::Load(d, unit.z + p);
    V real = hn::Load(d, state.real + p), imaginary = hn::Load(d, state.imaginary + p);
    V current = first ? hn::Set(d, 1) : hn::Load(d, state.current + p);
    V previous = first ? hn::Zero(d) : hn::Load(d, state.previous + p);
    HWY_UNROLL(8)
    for (int k = 0; k < kDegrees; ++k) {
      real_sums[k] = hn::MulAdd(real, current, real_sums[k]);
      imaginary_sums[k] = hn::MulAdd(imaginary, current, imaginary_sums[k]);
      const V next = hn::NegMulAdd(hn::Set(d, factor[k]), previous, hn::Mul(two_z, current));
      previous = current;
      current = next;
    }
    if (last) {
      RaiseM(hn::Load(d, unit.x + p), hn::Load(d, unit.y + p), &real, &imaginary);
      hn::Store(real, d, state.real + p);
      hn::Store(imaginary, d, state.imaginary + p);
    } else {
      hn::Store(current, d, state.current + p);
      hn::Store(previous, d, state.previous + p);
    }
  }
  AddSums(d, real_sums, weight, to_real);
  if (to_imaginary.plain != nullptr) AddSums(d, imaginary_sums, weight, to_imaginary);
}

// Calls AddHarmonicChunk with `degrees` as a template parameter.
template <int kDegrees, class D, typename T = hn::TFromD<D>, typename... Rest>
HWY_INLINE void DispatchHarmonicChunk(D d, int degrees, const Rest&... rest) {
  if constexpr (kDegrees > 0) {
    if (degrees == kDegrees) {
      AddHarmonicChunk<kDegrees>(d, rest...);
    } else {
      DispatchHarmonicChunk<kDegrees - 1>(d, degrees, rest...);
    }
  }
}

// Adds all harmonics for any order, one m and a few degrees at a time.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE T AddHarmonicsOfHighOrder(D d, const ChebyshevTables<T>& tables, const AngularNeighbors<T>& from,
                                       const AngularState<T>& state, T weight, WeightedSums<T> to) {
  using V = hn::Vec<D>;
  V self = hn::Zero(d);
  for (size_t p = 0; p < from.count; p += LaneCount(d)) {
    const Direction<D> unit = DirectionOf(d, tables, from, p);
    hn::Store(unit.x, d, from.x + p);
    hn::Store(unit.y, d, from.y + p);
    hn::Store(hn::Add(unit.z, unit.z), d, from.z + p);
    hn::Store(unit.cutoff, d, state.real + p);
    hn::Store(hn::Zero(d), d, state.imaginary + p);
    self = hn::MulAdd(unit.cutoff, unit.cutoff, self);
  }
  constexpr int kDegrees = kAccumulators / 3;
  const auto advance = [&to](int n) { to = {to.plain + n, to.spin == nullptr ? nullptr : to.spin + n}; };
  for (int m = 0; m <= tables.ang_order; ++m) {
    const int rows = tables.ang_order - m + 1;
    const T* factor = &tables.recurrence[m * (tables.ang_order + 1) + m];
    for (int done = 0; done < rows;) {
      const int degrees = std::min(kDegrees, rows - done);
      WeightedSums<T> imaginary = {nullptr, nullptr};
      if (m > 0) imaginary = {to.plain + rows, to.spin == nullptr ? nullptr : to.spin + rows};
      DispatchHarmonicChunk<kDegrees>(d, degrees, factor, done == 0, done + degrees == rows, from, state, weight, to,
                                      imaginary);
      factor += degrees;
      done += degrees;
      advance(degrees);
    }
    if (m > 0) advance(rows);
  }
  return hn::GetLane(hn::SumOfLanes(d, self));
}

constexpr int kHighestUnrolledOrder = 6;

// Adds B_b of the neighbors to to.plain[b] and weight times it to to.spin[b], in the order of ChebyshevTables::angular,
// and returns sum_j f_c^2. Overwrites `from` and `state`.
template <int kOrder = kHighestUnrolledOrder, class D, typename T = hn::TFromD<D>>
HWY_INLINE T AddAngularSums(D d, const ChebyshevTables<T>& tables, const AngularNeighbors<T>& from,
                            const AngularState<T>& state, T weight, WeightedSums<T> to) {
  if constexpr (kOrder < 0) {
    return AddHarmonicsOfHighOrder(d, tables, from, state, weight, to);
  } else {
    if (tables.ang_order == kOrder) return AddHarmonics<kOrder>(d, tables, from, state, weight, to);
    return AddAngularSums<kOrder - 1>(d, tables, from, state, weight, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
