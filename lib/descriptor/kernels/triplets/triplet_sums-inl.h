// Computes sum_{j<k} T_n(cos theta_jk) f_c(r_j) f_c(r_k), the angular sum in aenet's form, for one atom; each SIMD lane
// is a k. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_SUMS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_SUMS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "lib/descriptor/kernels/angular_sums-inl.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/vector_sums-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// The unit vectors of the neighbors of one species, and f_c, padded to whole vectors with f_c = 0.
template <typename T>
struct UnitVectors {
  const T *x, *y, *z, *cutoff;
  size_t count;
};

// Normalizes `from` in place and stores f_c to `cutoff`.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE UnitVectors<T> MakeUnitVectors(D d, const ChebyshevTables<T>& tables, const AngularNeighbors<T>& from,
                                          T* cutoff) {
  for (size_t p = 0; p < from.count; p += LaneCount(d)) {
    const Direction<D> unit = DirectionOf(d, tables, from, p);
    hn::Store(unit.x, d, from.x + p);
    hn::Store(unit.y, d, from.y + p);
    hn::Store(unit.z, d, from.z + p);
    hn::Store(unit.cutoff, d, cutoff + p);
  }
  return {from.x, from.y, from.z, cutoff, from.count};
}

// Adds orders `skip` .. skip + kOrders - 1 over all j in a and k in b, with k > j if both are the same neighbors.
template <int kOrders, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void AddTriplets(D d, int skip, const UnitVectors<T>& a, const UnitVectors<T>& b, T weight,
                              WeightedSums<T> to) {
  using V = hn::Vec<D>;
  const bool same = a.x == b.x;
  V sums[kOrders];
  for (int n = 0; n < kOrders; ++n) sums[n] = hn::Zero(d);
  for (size_t j = 0; j < a.count; ++j) {
    const V x = hn::Set(d, a.x[j]), y = hn::Set(d, a.y[j]), z = hn::Set(d, a.z[j]), cutoff = hn::Set(d, a.cutoff[j]);
    const size_t begin = same ? (j + 1) / LaneCount(d) * LaneCount(d) : 0;
    for (size_t k = begin; k < b.count; k += LaneCount(d)) {
      V scale = hn::Mul(cutoff, hn::Load(d, b.cutoff + k));
      if (same && k <= j) {
        scale = hn::IfThenZeroElse(hn::FirstN(d, j + 1 - k), scale);
      }
      const V dot =
          hn::MulAdd(x, hn::Load(d, b.x + k), hn::MulAdd(y, hn::Load(d, b.y + k), hn::Mul(z, hn::Load(d, b.z + k))));
      const V cosine = hn::Min(hn::Max(dot, hn::Set(d, -1)), hn::Set(d, 1));
      const V two_cosine = hn::Add(cosine, cosine);
      V current = scale, previous = hn::Mul(scale, cosine);  // T_{-1} = T_1
      for (int n = 0; n < skip; ++n) {
        const V next = hn::MulSub(two_cosine, current, previous);
        previous = current;
        current = next;
      }
      HWY_UNROLL(16)
      for (int n = 0; n < kOrders; ++n) {
        sums[n] = hn::Add(sums[n], current);
        const V next = hn::MulSub(two_cosine, current, previous);
        previous = current;
        current = next;
      }
    }
  }
  AddSums(d, sums, weight, to);
}

template <int kOrders, class D, typename T = hn::TFromD<D>>
HWY_INLINE void DispatchTriplets(D d, int orders, int skip, const UnitVectors<T>& a, const UnitVectors<T>& b, T weight,
                                 WeightedSums<T> to) {
  if constexpr (kOrders > 0) {
    if (orders == kOrders) {
      AddTriplets<kOrders>(d, skip, a, b, weight, to);
    } else {
      DispatchTriplets<kOrders - 1>(d, orders, skip, a, b, weight, to);
    }
  }
}

// Adds the sum over pairs of T_n(cos theta) f_c f_c to to.plain[n], and weight times it to to.spin[n], for n = 0 ..
// ang_order. Eight orders are computed at a time; the recurrence starts again for the next eight.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddTripletSums(D d, const ChebyshevTables<T>& tables, const UnitVectors<T>& a, const UnitVectors<T>& b,
                               T weight, WeightedSums<T> to) {
  constexpr int kOrders = 8;
  for (int n = 0; n <= tables.ang_order; n += kOrders) {
    DispatchTriplets<kOrders>(d, std::min(kOrders, tables.ang_order + 1 - n), n, a, b, weight,
                              {to.plain + n, to.spin == nullptr ? nullptr : to.spin + n});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
