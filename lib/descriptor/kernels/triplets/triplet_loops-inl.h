// Computes the angular sum over pairs of neighbors j < k, its slopes and its tangents without a list of triplets. Each
// SIMD lane is an atom, and the k-th neighbors of all lanes are combined with the l-th. Highway compiles this file once
// for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_LOOPS_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_LOOPS_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_LOOPS_INL_H_
#endif

#include <cstddef>

#include "lib/descriptor/kernels/angular_moments-inl.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/cutoff-inl.h"
#include "lib/descriptor/kernels/radial_basis-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The angular slots of one species in one group; arrays are [slots, lanes].
template <typename T>
struct TripletSlots {
  Slots<T> at;
  const T *value, *slope;          // f_c and df_c/dr
  SlotTangents<T> tangents;        // set for tangents: changes of the unit vectors and, in r, of f_c
  T *sum_x, *sum_y, *sum_z, *sum;  // set for slopes: what triplets add to each of their two neighbors
  size_t count, first;             // pairs of slots count only if one of them is below `first`
};

template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE V CosineOf(D d, V x, V y, V z, const Slots<T>& slots, size_t p) {
  const V dot = hn::MulAdd(x, hn::Load(d, slots.x + p),
                           hn::MulAdd(y, hn::Load(d, slots.y + p), hn::Mul(z, hn::Load(d, slots.z + p))));
  return hn::Min(hn::Max(dot, hn::Set(d, -1)), hn::Set(d, 1));
}

// Starts the recurrences of T_n of cosines at n = 0.
template <int kSlots, class D, class V>
HWY_INLINE void StartAngles(D d, const V (&cosine)[kSlots], Recurrence<kSlots, V>* t) {
  for (int k = 0; k < kSlots; ++k) {
    t->two_x[k] = hn::Add(cosine[k], cosine[k]);
    t->current[k] = hn::Set(d, 1);
    t->previous[k] = cosine[k];  // T_{-1} = T_1
  }
}

// The three bodies below combine one slot j with slots k .. k + kSlots - 1, which Run takes as (a, p) and (b, q), with
// p and q in elements.
//
// AddTripletValues adds T_n f_j f_k to sums[n].
template <typename T>
struct AddTripletValues {
  const ChebyshevTables<T>* tables;
  T* sums;

  template <int kSlots, class D>
  HWY_INLINE void Run(D d, const TripletSlots<T>& a, size_t p, const TripletSlots<T>& b, size_t q) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    const V x = hn::Load(d, a.at.x + p), y = hn::Load(d, a.at.y + p), z = hn::Load(d, a.at.z + p);
    V cosine[kSlots], weight[kSlots];
    for (int k = 0; k < kSlots; ++k) {
      cosine[k] = CosineOf(d, x, y, z, b.at, q + k * lanes);
      weight[k] = hn::Mul(hn::Load(d, a.value + p), hn::Load(d, b.value + q + k * lanes));
    }
    Recurrence<kSlots, V> t;
    StartAngles(d, cosine, &t);
    T* to = sums;
    for (int n = 0; n <= tables->ang_order; ++n, to += lanes) {
      V sum = hn::Load(d, to);
      for (int k = 0; k < kSlots; ++k) sum = hn::MulAdd(t.current[k], weight[k], sum);
      hn::Store(sum, d, to);
      t.Advance();
    }
  }
};

// With P = sum_n value[n] T_n and P' = sum_n slope[n] T_n of the cosine, adds P f to `sum` and P' f u to (sum_x, sum_y,
// sum_z) of each neighbor, where f and u are those of the other neighbor.
template <typename T>
struct AddTripletSlopes {
  const ChebyshevTables<T>* tables;
  const T *value, *slope;

  template <int kSlots, class D>
  HWY_INLINE void Run(D d, const TripletSlots<T>& a, size_t p, const TripletSlots<T>& b, size_t q) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    const V x = hn::Load(d, a.at.x + p), y = hn::Load(d, a.at.y + p), z = hn::Load(d, a.at.z + p);
    V cosine[kSlots], sum[kSlots], by_cosine[kSlots];
    for (int k = 0; k < kSlots; ++k) {
      cosine[k] = CosineOf(d, x, y, z, b.at, q + k * lanes);
      sum[k] = by_cosine[k] = hn::Zero(d);
    }
    Recurrence<kSlots, V> t;
    StartAngles(d, cosine, &t);
    const T *w = value, *c = slope;
    for (int n = 0; n <= tables->ang_order; ++n, w += lanes, c += lanes) {
      const V wn = hn::Load(d, w), cn = hn::Load(d, c);
      for (int k = 0; k < kSlots; ++k) {
        sum[k] = hn::MulAdd(wn, t.current[k], sum[k]);
        by_cosine[k] = hn::MulAdd(cn, t.current[k], by_cosine[k]);
      }
      t.Advance();
    }
    V own = hn::Load(d, a.sum + p), own_x = hn::Load(d, a.sum_x + p);
    V own_y = hn::Load(d, a.sum_y + p), own_z = hn::Load(d, a.sum_z + p);
    const V f = hn::Load(d, a.value + p);
    for (int k = 0; k < kSlots; ++k) {
      const size_t at = q + k * lanes;
      const V other = hn::Load(d, b.value + at);
      const V across = hn::Mul(by_cosine[k], other), back = hn::Mul(by_cosine[k], f);
      own = hn::MulAdd(sum[k], other, own);
      own_x = hn::MulAdd(across, hn::Load(d, b.at.x + at), own_x);
      own_y = hn::MulAdd(across, hn::Load(d, b.at.y + at), own_y);
      own_z = hn::MulAdd(across, hn::Load(d, b.at.z + at), own_z);
      hn::Store(hn::MulAdd(sum[k], f, hn::Load(d, b.sum + at)), d, b.sum + at);
      hn::Store(hn::MulAdd(back, x, hn::Load(d, b.sum_x + at)), d, b.sum_x + at);
      hn::Store(hn::MulAdd(back, y, hn::Load(d, b.sum_y + at)), d, b.sum_y + at);
      hn::Store(hn::MulAdd(back, z, hn::Load(d, b.sum_z + at)), d, b.sum_z + at);
    }
    hn::Store(own, d, a.sum + p);
    hn::Store(own_x, d, a.sum_x + p);
    hn::Store(own_y, d, a.sum_y + p);
    hn::Store(own_z, d, a.sum_z + p);
  }
};

// Adds T_n d(f_j f_k) to value[n], and T_n f_j f_k dcosine to slope[n].
template <typename T>
struct AddTripletTangents {
  const ChebyshevTables<T>* tables;
  T *value, *slope;

  template <int kSlots, class D>
  HWY_INLINE void Run(D d, const TripletSlots<T>& a, size_t p, const TripletSlots<T>& b, size_t q) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    const V x = hn::Load(d, a.at.x + p), y = hn::Load(d, a.at.y + p), z = hn::Load(d, a.at.z + p);
    const V dx = hn::Load(d, a.tangents.x + p), dy = hn::Load(d, a.tangents.y + p);
    const V dz = hn::Load(d, a.tangents.z + p);
    const V f = hn::Load(d, a.value + p), df = hn::Load(d, a.tangents.r + p);
    V cosine[kSlots], by_value[kSlots], by_slope[kSlots];
    for (int k = 0; k < kSlots; ++k) {
      const size_t at = q + k * lanes;
      cosine[k] = CosineOf(d, x, y, z, b.at, at);
      const V other = hn::Load(d, b.value + at);
      by_value[k] = hn::MulAdd(df, other, hn::Mul(f, hn::Load(d, b.tangents.r + at)));
      const V mine = hn::MulAdd(dx, hn::Load(d, b.at.x + at),
                                hn::MulAdd(dy, hn::Load(d, b.at.y + at), hn::Mul(dz, hn::Load(d, b.at.z + at))));
      const V change = hn::MulAdd(
          x, hn::Load(d, b.tangents.x + at),
          hn::MulAdd(y, hn::Load(d, b.tangents.y + at), hn::MulAdd(z, hn::Load(d, b.tangents.z + at), mine)));
      by_slope[k] = hn::Mul(change, hn::Mul(f, other));
    }
    Recurrence<kSlots, V> t;
    StartAngles(d, cosine, &t);
    T *to_value = value, *to_slope = slope;
    for (int n = 0; n <= tables->ang_order; ++n, to_value += lanes, to_slope += lanes) {
      V u = hn::Load(d, to_value), v = hn::Load(d, to_slope);
      for (int k = 0; k < kSlots; ++k) {
        u = hn::MulAdd(t.current[k], by_value[k], u);
        v = hn::MulAdd(t.current[k], by_slope[k], v);
      }
      hn::Store(u, d, to_value);
      hn::Store(v, d, to_slope);
      t.Advance();
    }
  }
};

// Calls the body for all pairs of slots of two species, or of one species with itself.
template <class D, class Body, typename T = hn::TFromD<D>>
HWY_NOINLINE void ForEachTriplet(D d, const Body& body, const TripletSlots<T>& a, const TripletSlots<T>& b, bool same) {
  const size_t lanes = hn::Lanes(d);
  for (size_t j = 0; j < a.count; ++j) {
    size_t k = same ? j + 1 : 0;
    const size_t end = j < a.first ? b.count : b.first;
    for (; k + kRadialSlots <= end; k += kRadialSlots) {
      body.template Run<kRadialSlots>(d, a, j * lanes, b, k * lanes);
    }
    for (; k < end; ++k) body.template Run<1>(d, a, j * lanes, b, k * lanes);
  }
}

// Computes f_c and its derivative for `count` slots.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void AngularCutoffs(D d, const ChebyshevTables<T>& tables, const T* r, size_t count, T* value, T* slope) {
  for (size_t p = 0; p < count * hn::Lanes(d); p += hn::Lanes(d)) {
    const auto f = CutoffWithSlope(d, hn::Load(d, r + p), tables.ang_inverse_square);
    hn::Store(f.value, d, value + p);
    hn::Store(f.slope, d, slope + p);
  }
}

// Turns the sums of AddTripletSlopes into derivatives by r_ij, in place: sum_x, sum_y, sum_z.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void FinishTripletSlopes(D d, const TripletSlots<T>& a) {
  using V = hn::Vec<D>;
  for (size_t p = 0; p < a.count * hn::Lanes(d); p += hn::Lanes(d)) {
    const V x = hn::Load(d, a.at.x + p), y = hn::Load(d, a.at.y + p), z = hn::Load(d, a.at.z + p);
    const V sum_x = hn::Load(d, a.sum_x + p), sum_y = hn::Load(d, a.sum_y + p), sum_z = hn::Load(d, a.sum_z + p);
    const V across = hn::Div(hn::Load(d, a.value + p), hn::Load(d, a.at.r + p));
    const V dot = hn::MulAdd(sum_x, x, hn::MulAdd(sum_y, y, hn::Mul(sum_z, z)));
    const V along = hn::MulSub(hn::Load(d, a.slope + p), hn::Load(d, a.sum + p), hn::Mul(across, dot));
    hn::Store(hn::MulAdd(across, sum_x, hn::Mul(along, x)), d, a.sum_x + p);
    hn::Store(hn::MulAdd(across, sum_y, hn::Mul(along, y)), d, a.sum_y + p);
    hn::Store(hn::MulAdd(across, sum_z, hn::Mul(along, z)), d, a.sum_z + p);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
