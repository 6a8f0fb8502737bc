// Kernels of the radial features, their slopes and their tangents; each thread is an atom.
//
// Terms t_n = T_n(x) f_c come from the recurrence of T_n started at f_c, and their changes from its derivative:
// t'_{n+1} = 2x t'_n + 2x' t_n - t'_{n-1}. No coefficients of T_n' are needed, and half as many registers as with them.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_RADIAL_BODIES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_RADIAL_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/bodies/slot_geometry-inl.h"
#include "lib/potential/gpu/descriptor_views.h"
#include "lib/potential/gpu/pair_slots.h"

namespace rutile {

// The pairs whose recurrences overlap, because each step of a recurrence waits for the one before it.
inline constexpr int kRadialSlots = 2;

// The recurrence of t_n. A default one is of a pair that is not there.
template <typename T>
struct RadialTerm {
  T two_x = 0, current = 0, previous = 0;

  RUTILE_DEVICE void Start(const RadialTables<T>& tables, T r, T cutoff) {
    two_x = tables.scale * r - 2;
    current = cutoff;
    previous = two_x * T(0.5) * cutoff;  // T_{-1} = T_1
  }
  RUTILE_DEVICE void Advance() {
    const T next = two_x * current - previous;
    previous = current;
    current = next;
  }
};

// The recurrence of a change of t_n.
template <typename T>
struct RadialChange {
  RadialTerm<T> term;
  T two_dx = 0, current = 0, previous = 0;

  // dr: how r changes.
  RUTILE_DEVICE void Start(const RadialTables<T>& tables, T r, T dr) {
    const CutoffValues<T> f = Cutoff(r, tables.inverse_square);
    term.Start(tables, r, f.value);
    two_dx = tables.scale * dr;
    current = f.slope * dr;
    previous = (two_dx * f.value + term.two_x * current) * T(0.5);
  }
  RUTILE_DEVICE void Advance() {
    const T next = term.two_x * current + (two_dx * term.current - previous);
    previous = current;
    current = next;
    term.Advance();
  }
};

// The radial columns of a row, in registers: [kHalves, kSize] with kSize > order, unweighted ones and, if kHalves is 2,
// those weighted with typespins.
template <typename T, int kSize, int kHalves>
struct RadialRow {
  T value[kHalves][kSize];

  RUTILE_DEVICE void Clear() {
    RUTILE_UNROLL
    for (int n = 0; n < kSize * kHalves; ++n) value[n / kSize][n % kSize] = 0;
  }
  RUTILE_DEVICE void Load(const RadialTables<T>& tables, const T* row) {
    RUTILE_UNROLL
    for (int n = 0; n < kSize; ++n) {
      value[0][n] = n <= tables.order ? row[n] : T(0);
      if constexpr (kHalves == 2) value[1][n] = n <= tables.order ? row[tables.weighted_column + n] : T(0);
    }
  }
  RUTILE_DEVICE void Store(const RadialTables<T>& tables, T* row) const {
    RUTILE_UNROLL
    for (int n = 0; n < kSize; ++n) {
      if (n > tables.order) continue;
      row[n] = value[0][n];
      if constexpr (kHalves == 2) row[tables.weighted_column + n] = value[1][n];
    }
  }
  // Adds the terms of kRadialSlots pairs. Term: RadialTerm or RadialChange.
  template <typename Term>
  RUTILE_DEVICE void Add(Term (&term)[kRadialSlots], const T (&spin)[kRadialSlots]) {
    RUTILE_UNROLL
    for (int n = 0; n < kSize; ++n) {
      RUTILE_UNROLL
      for (int u = 0; u < kRadialSlots; ++u) {
        value[0][n] += term[u].current;
        if constexpr (kHalves == 2) value[1][n] += spin[u] * term[u].current;
        term[u].Advance();
      }
    }
  }
};

// Computes the radial columns of features; i is an atom.
template <typename T, int kSize, int kHalves>
struct RadialFeatures {
  static constexpr int kThreads = kDescriptorThreads;
  RadialTables<T> tables;
  PairSlots<T> pairs;
  int num_features;
  T* features;  // [A, F]

  RUTILE_DEVICE void operator()(int64_t i) const {
    RadialRow<T, kSize, kHalves> sums;
    sums.Clear();
    const int count = pairs.radial_count[i];
    SlotReader<T> slots(pairs, i, count, kHalves == 2);
    for (int k = 0; k < count; k += kRadialSlots) {
      RadialTerm<T> term[kRadialSlots];
      T spin[kRadialSlots] = {};
      RUTILE_UNROLL
      for (int u = 0; u < kRadialSlots; ++u) {
        if (k + u >= count) continue;
        const LoadedSlot<T> at = slots.Take();
        const T r = Direction<T>(at).r;
        term[u].Start(tables, r, Cutoff(r, tables.inverse_square).value);
        spin[u] = at.spin;
      }
      sums.Add(term, spin);
    }
    sums.Store(tables, features + i * num_features);
  }
};

// Computes the radial part of the slopes of all pairs, 0 beyond the radial cutoff; t counts the atoms asked for.
template <typename T, int kSize, int kHalves>
struct RadialSlopes {
  static constexpr int kThreads = kDescriptorThreads;
  RadialTables<T> tables;
  PairSlots<T> pairs;
  int num_features;
  const int32_t* atoms;  // [n]
  const T* q;            // [A, F] dE/dG
  SlotSlopes<T> slopes;

  RUTILE_DEVICE void operator()(int64_t t) const {
    const int64_t atom = atoms[t];
    RadialRow<T, kSize, kHalves> row;
    row.Load(tables, q + atom * num_features);
    const int count = pairs.radial_count[atom], all = pairs.count[atom];
    SlotReader<T> slots(pairs, atom, count, kHalves == 2);
    int64_t slot = pairs.Slot(atom, 0);
    for (int k = 0; k < all; k += kRadialSlots) {
      RadialChange<T> change[kRadialSlots];
      LoadedSlot<T> at[kRadialSlots] = {};
      RUTILE_UNROLL
      for (int u = 0; u < kRadialSlots; ++u) {
        if (k + u >= count) continue;
        at[u] = slots.Take();
        change[u].Start(tables, Direction<T>(at[u]).r, T(1));
      }
      T along[kRadialSlots] = {};
      if (k < count) Multiply(row, at, change, &along);
      RUTILE_UNROLL
      for (int u = 0; u < kRadialSlots; ++u, slot += kGroupAtoms) {
        if (k + u >= all) continue;
        slopes.x[slot] = along[u] * at[u].x;
        slopes.y[slot] = along[u] * at[u].y;
        slopes.z[slot] = along[u] * at[u].z;
      }
    }
  }

 private:
  // Computes the derivative by r, over r.
  RUTILE_DEVICE static void Multiply(const RadialRow<T, kSize, kHalves>& row, const LoadedSlot<T> (&at)[kRadialSlots],
                                     RadialChange<T> (&change)[kRadialSlots], T (*along)[kRadialSlots]) {
    T sum[kHalves][kRadialSlots] = {};
    RUTILE_UNROLL
    for (int n = 0; n < kSize; ++n) {
      RUTILE_UNROLL
      for (int u = 0; u < kRadialSlots; ++u) {
        sum[0][u] += row.value[0][n] * change[u].current;
        if constexpr (kHalves == 2) sum[1][u] += row.value[1][n] * change[u].current;
        change[u].Advance();
      }
    }
    RUTILE_UNROLL
    for (int u = 0; u < kRadialSlots; ++u) {
      if constexpr (kHalves == 2) sum[0][u] += at[u].spin * sum[1][u];
      const T square = at[u].x * at[u].x + at[u].y * at[u].y + at[u].z * at[u].z;
      (*along)[u] = square > 0 ? sum[0][u] * InverseRoot(square) : T(0);
    }
  }
};

// Computes the radial columns of tangents; t counts the atoms asked for.
template <typename T, int kSize, int kHalves>
struct RadialTangents {
  static constexpr int kThreads = kDescriptorThreads;
  RadialTables<T> tables;
  PairSlots<T> pairs;
  int num_features;
  const int32_t* atoms;  // [n]
  Motion<T> motion;
  T* tangents;  // [A, F]

  RUTILE_DEVICE void operator()(int64_t t) const {
    const int64_t atom = atoms[t];
    RadialRow<T, kSize, kHalves> sums;
    sums.Clear();
    const int count = pairs.radial_count[atom];
    SlotReader<T> slots(pairs, atom, count, kHalves == 2);
    MotionReader<T> changes(pairs, motion, t, atom, count);
    for (int k = 0; k < count; k += kRadialSlots) {
      RadialChange<T> change[kRadialSlots];
      T spin[kRadialSlots] = {};
      RUTILE_UNROLL
      for (int u = 0; u < kRadialSlots; ++u) {
        if (k + u >= count) continue;
        const LoadedSlot<T> at = slots.Take();
        const Direction<T> unit(at);
        change[u].Start(tables, unit.r, changes.Take(at, unit).r);
        spin[u] = at.spin;
      }
      sums.Add(change, spin);
    }
    sums.Store(tables, tangents + atom * num_features);
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_RADIAL_BODIES_INL_H_
