// Kernels of one set of angular features, their slopes and their tangents; each thread is an atom, and the order is a
// constant, up to kHighestUnrolledOrder. high_order_bodies-inl.h has the other orders.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_ANGULAR_BODIES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_ANGULAR_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/bodies/angular_harmonics-inl.h"
#include "lib/potential/gpu/bodies/slot_geometry-inl.h"
#include "lib/potential/gpu/descriptor_views.h"
#include "lib/potential/gpu/pair_slots.h"

namespace rutile {

inline constexpr int kHighestUnrolledOrder = 8;
inline constexpr int kAnyOrder = -1;  // as a template parameter: the order is that of the tables

// What all angular kernels get. A kernel computes both halves of the columns, unweighted and weighted with typespins
// (kHalves = 2), where registers allow, and otherwise one (kHalves = 1).
template <typename T>
struct AngularInput {
  AngularTables<T> tables;
  PairSlots<T> pairs;
  const int32_t* count;  // [A] pairs within the set's cutoff
  int num_features;
  int half;  // the half, or the first one

  // The column of each half's first feature.
  RUTILE_DEVICE int Column(int h) const { return half + h == 0 ? tables.first_column : tables.first_weighted_column; }
  // The moments of an atom, of which number b lies at b * num_atoms.
  RUTILE_DEVICE int64_t Moments(int h, int64_t atom) const {
    return (tables.first_moment + int64_t{half + h} * tables.num_harmonics) * pairs.num_atoms + atom;
  }
  template <int kHalves>
  RUTILE_DEVICE SlotReader<T> Slots(int64_t atom) const {
    return SlotReader<T>(pairs, atom, count[atom], kHalves == 2 || half == 1);
  }
};

// Stores sum_l t_nl by_degree[l] - rest as features n.
template <int kOrder, typename T>
RUTILE_DEVICE inline void StoreFeatures(const T* legendre, const T (&by_degree)[kOrder + 1], T rest, T* row) {
  RUTILE_UNROLL
  for (int n = 0; n <= kOrder; ++n) {
    T sum = -rest;
    RUTILE_UNROLL
    for (int l = n % 2; l <= n; l += 2) sum += legendre[n * (kOrder + 1) + l] * by_degree[l];
    row[n] = sum;
  }
}

// Computes by_degree[l] = 2 sum_n t_nl q[n], and returns the sum of q.
template <int kOrder, typename T>
RUTILE_DEVICE inline T LoadSlopes(const T* legendre, const T* q, T (&by_degree)[kOrder + 1]) {
  T sum = 0;
  RUTILE_UNROLL
  for (int l = 0; l <= kOrder; ++l) by_degree[l] = 0;
  RUTILE_UNROLL
  for (int n = 0; n <= kOrder; ++n) {
    const T value = q[n];
    sum += value;
    RUTILE_UNROLL
    for (int l = n % 2; l <= n; l += 2) by_degree[l] += 2 * legendre[n * (kOrder + 1) + l] * value;
  }
  return sum;
}

// Calls use(b, l) for all harmonics.
template <int kOrder, typename Use>
RUTILE_DEVICE inline void ForEachHarmonic(const Use& use) {
  RUTILE_UNROLL
  for (int m = 0; m <= kOrder; ++m) {
    RUTILE_UNROLL
    for (int l = m; l <= kOrder; ++l) {
      use(FirstHarmonic(kOrder, m) + l - m, l);
      if (m > 0) use(FirstHarmonic(kOrder, m) + kOrder + 1 - m + l - m, l);
    }
  }
}

// Computes the set's columns of features, and its moments; i is an atom.
template <typename T, int kOrder, int kHalves>
struct AngularFeatures {
  static constexpr int kThreads = kDescriptorThreads;
  AngularInput<T> in;
  T* features;  // [A, F]
  T* moments;   // [num_moments, A]

  RUTILE_DEVICE void operator()(int64_t i) const {
    Harmonics<T, kOrder, kHalves> sums;
    sums.Clear();
    T self[kHalves] = {};
    SlotReader<T> slots = in.template Slots<kHalves>(i);
    const int count = in.count[i];
    for (int k = 0; k < count; ++k) {
      const LoadedSlot<T> at = slots.Take();
      const Direction<T> u(at);
      T f = Cutoff(u.r, in.tables.inverse_square).value;
      if constexpr (kHalves == 1) f *= at.spin;
      self[0] += f * f;
      if constexpr (kHalves == 2) self[1] += (f * at.spin) * (f * at.spin);
      AddMoments<0>(u.x, u.y, u.z + u.z, at.spin, f, T(0), &sums);
    }
    RUTILE_UNROLL
    for (int h = 0; h < kHalves; ++h) {
      T by_degree[kOrder + 1] = {};
      T* const to = moments + in.Moments(h, i);
      ForEachHarmonic<kOrder>([&](int b, int l) {
        const T sum = sums.value[h][b];
        to[b * in.pairs.num_atoms] = sum;
        by_degree[l] += in.tables.weight[b] * (sum * sum);
      });
      StoreFeatures<kOrder>(in.tables.legendre, by_degree, self[h] * T(0.5),
                            features + i * in.num_features + in.Column(h));
    }
  }
};

// Adds the set's part of the slopes of all pairs within its cutoff; t counts the atoms asked for.
template <typename T, int kOrder, int kHalves>
struct AngularSlopes {
  static constexpr int kThreads = kDescriptorThreads;
  AngularInput<T> in;
  const int32_t* atoms;  // [n]
  const T* q;            // [A, F] dE/dG
  const T* moments;      // [num_moments, A]
  SlotSlopes<T> slopes;

  RUTILE_DEVICE void operator()(int64_t t) const {
    const int64_t atom = atoms[t];
    const int count = in.count[atom];
    if (count == 0) return;
    Harmonics<T, kOrder, kHalves> h;  // dE/dB_b
    T self[kHalves];
    RUTILE_UNROLL
    for (int half = 0; half < kHalves; ++half) {
      T by_degree[kOrder + 1];
      self[half] = LoadSlopes<kOrder>(in.tables.legendre, q + atom * in.num_features + in.Column(half), by_degree);
      const T* const from = moments + in.Moments(half, atom);
      ForEachHarmonic<kOrder>(
          [&](int b, int l) { h.value[half][b] = in.tables.weight[b] * from[b * in.pairs.num_atoms] * by_degree[l]; });
    }
    SlotReader<T> slots = in.template Slots<kHalves>(atom);
    int64_t slot = in.pairs.Slot(atom, 0);
    for (int k = 0; k < count; ++k, slot += kGroupAtoms) {
      const LoadedSlot<T> at = slots.Take();
      const Direction<T> u(at);
      HarmonicSum<T> sum;
      SumSlopes<0>(h, at.spin, u.x, u.y, u.z + u.z, T(1), T(0), &sum);
      T twice_self = self[0], weight = 1;
      if constexpr (kHalves == 2) twice_self += at.spin * at.spin * self[1];
      if constexpr (kHalves == 1) {
        weight = at.spin;
        twice_self *= at.spin;
      }
      StoreSlope(at, u, in.tables.inverse_square, twice_self, weight, sum, slot, slopes);
    }
  }
};

// Computes the set's columns of tangents; t counts the atoms asked for.
template <typename T, int kOrder, int kHalves>
struct AngularTangents {
  static constexpr int kThreads = kDescriptorThreads;
  AngularInput<T> in;
  const int32_t* atoms;  // [n]
  const T* moments;      // [num_moments, A]
  Motion<T> motion;
  T* tangents;  // [A, F]

  RUTILE_DEVICE void operator()(int64_t t) const {
    const int64_t atom = atoms[t];
    Harmonics<T, kOrder, kHalves> changes;
    changes.Clear();
    T self[kHalves] = {};
    const int count = in.count[atom];
    SlotReader<T> slots = in.template Slots<kHalves>(atom);
    MotionReader<T> moves(in.pairs, motion, t, atom, count);
    for (int k = 0; k < count; ++k) {
      const LoadedSlot<T> at = slots.Take();
      const Direction<T> u(at);
      const SlotChange<T> du = moves.Take(at, u);
      CutoffValues<T> f = Cutoff(u.r, in.tables.inverse_square);
      if constexpr (kHalves == 1) f = {f.value * at.spin, f.slope * at.spin};
      const T f_dot = f.slope * du.r;
      self[0] += f.value * f_dot;
      if constexpr (kHalves == 2) self[1] += (f.value * at.spin) * (f_dot * at.spin);
      AddChanges<0>(u, du, at.spin, PowerChange<T>{f.value, T(0), f_dot, T(0), T(0), T(0)}, &changes);
    }
    RUTILE_UNROLL
    for (int h = 0; h < kHalves; ++h) {
      T by_degree[kOrder + 1] = {};
      const T* const from = moments + in.Moments(h, atom);
      ForEachHarmonic<kOrder>([&](int b, int l) {
        by_degree[l] += 2 * in.tables.weight[b] * from[b * in.pairs.num_atoms] * changes.value[h][b];
      });
      StoreFeatures<kOrder>(in.tables.legendre, by_degree, self[h], tangents + atom * in.num_features + in.Column(h));
    }
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_ANGULAR_BODIES_INL_H_
