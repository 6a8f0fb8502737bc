// The kernels of angular_bodies-inl.h for any order up to kMaxOrder: one half of the columns at a time, and without
// arrays of as many numbers as there are harmonics, which would not fit in registers.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_HIGH_ORDER_BODIES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_HIGH_ORDER_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/bodies/angular_bodies-inl.h"

namespace rutile {

// Calls use(l, q_lm) for the degrees l = m .. order of one m.
template <typename T, typename Use>
RUTILE_DEVICE inline void ForEachDegree(const AngularTables<T>& tables, int m, T two_z, const Use& use) {
  const T* const factor = tables.recurrence + m * (tables.order + 1);
  T previous = 0, current = 1;
  for (int l = m; l <= tables.order; ++l) {
    use(l, current);
    const T next = two_z * current - factor[l] * previous;
    previous = current;
    current = next;
  }
}

// Where the harmonics of one m and those of m - 1 begin, counted so that degree l is at + l; `imaginary` ones are there
// if m > 0 and m > 1.
struct PlacesOfM {
  int real, imaginary, real_below, imaginary_below;

  RUTILE_DEVICE PlacesOfM(int order, int m)
      : real(FirstHarmonic(order, m) - m),
        imaginary(real + order + 1 - m),
        real_below(FirstHarmonic(order, m > 0 ? m - 1 : 0) - m + 1),
        imaginary_below(real_below + order + 2 - m) {}
};

// As StoreFeatures and LoadSlopes of angular_bodies-inl.h.
template <typename T>
RUTILE_DEVICE inline void StoreFeaturesOfAnyOrder(const AngularTables<T>& tables, const T* by_degree, T rest, T* row) {
  for (int n = 0; n <= tables.order; ++n) {
    T sum = -rest;
    for (int l = n % 2; l <= n; l += 2) sum += tables.legendre[n * (tables.order + 1) + l] * by_degree[l];
    row[n] = sum;
  }
}
template <typename T>
RUTILE_DEVICE inline T LoadSlopesOfAnyOrder(const AngularTables<T>& tables, const T* q, T* by_degree) {
  T sum = 0;
  for (int l = 0; l <= tables.order; ++l) {
    sum += q[l];
    by_degree[l] = 0;
    for (int n = l; n <= tables.order; n += 2) by_degree[l] += 2 * tables.legendre[n * (tables.order + 1) + l] * q[n];
  }
  return sum;
}

// Sums moments up where they are stored.
template <typename T>
struct AngularFeatures<T, kAnyOrder, 1> {
  static constexpr int kThreads = kDescriptorThreads;
  AngularInput<T> in;
  T* features;
  T* moments;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const AngularTables<T>& tables = in.tables;
    const int64_t stride = in.pairs.num_atoms;
    T* const sums = moments + in.Moments(0, i);
    for (int b = 0; b < tables.num_harmonics; ++b) sums[b * stride] = 0;
    T self = 0;
    SlotReader<T> slots = in.template Slots<1>(i);
    const int count = in.count[i];
    for (int k = 0; k < count; ++k) {
      const LoadedSlot<T> at = slots.Take();
      const Direction<T> u(at);
      T real = Cutoff(u.r, tables.inverse_square).value * at.spin, imaginary = 0;
      self += real * real;
      for (int m = 0; m <= tables.order; ++m) {
        const PlacesOfM place(tables.order, m);
        ForEachDegree(tables, m, u.z + u.z, [&](int l, T value) {
          sums[(place.real + l) * stride] += real * value;
          if (m > 0) sums[(place.imaginary + l) * stride] += imaginary * value;
        });
        RaiseM(u.x, u.y, &real, &imaginary);
      }
    }
    T by_degree[kMaxOrder + 1] = {};
    for (int m = 0; m <= tables.order; ++m) {
      const PlacesOfM place(tables.order, m);
      for (int l = m; l <= tables.order; ++l) {
        for (int b = place.real + l; b <= (m > 0 ? place.imaginary : place.real) + l; b += tables.order + 1 - m) {
          by_degree[l] += tables.weight[b] * (sums[b * stride] * sums[b * stride]);
        }
      }
    }
    StoreFeaturesOfAnyOrder(tables, by_degree, self * T(0.5), features + i * in.num_features + in.Column(0));
  }
};

// Computes the coefficients of harmonics anew for every pair.
template <typename T>
struct AngularSlopes<T, kAnyOrder, 1> {
  static constexpr int kThreads = kDescriptorThreads;
  AngularInput<T> in;
  const int32_t* atoms;
  const T* q;
  const T* moments;
  SlotSlopes<T> slopes;

  RUTILE_DEVICE void operator()(int64_t t) const {
    const AngularTables<T>& tables = in.tables;
    const int64_t atom = atoms[t], stride = in.pairs.num_atoms;
    T by_degree[kMaxOrder + 1];
    const T self = LoadSlopesOfAnyOrder(tables, q + atom * in.num_features + in.Column(0), by_degree);
    const T* const from = moments + in.Moments(0, atom);
    SlotReader<T> slots = in.template Slots<1>(atom);
    int64_t slot = in.pairs.Slot(atom, 0);
    const int count = in.count[atom];
    for (int k = 0; k < count; ++k, slot += kGroupAtoms) {
      const LoadedSlot<T> at = slots.Take();
      const Direction<T> u(at);
      HarmonicSum<T> sum;
      T real = 1, imaginary = 0;  // C_{m-1}, S_{m-1} from m = 1 on
      for (int m = 0; m <= tables.order; ++m) {
        const PlacesOfM place(tables.order, m);
        DegreeSums<T> sums;
        ForEachDegree(tables, m, u.z + u.z, [&](int l, T value) {
          const T scaled = value * by_degree[l], slope = T(2 * (l - m + 1)) * scaled;
          const auto h = [&](int b) { return tables.weight[b + l] * from[(b + l) * stride]; };
          sums.real += h(place.real) * scaled;
          if (m > 0) sums.imaginary += h(place.imaginary) * scaled;
          if (m > 0) sums.z_real += h(place.real_below) * slope;
          if (m > 1) sums.z_imaginary += h(place.imaginary_below) * slope;
        });
        if (m == 0) {
          sum.value = sums.real;
        } else {
          AddSlopesOfM(m, sums, u.x, u.y, &real, &imaginary, &sum);
        }
      }
      StoreSlope(at, u, tables.inverse_square, self * at.spin, at.spin, sum, slot, slopes);
    }
  }
};

// Contracts the changes of harmonics with the moments pair by pair, which leaves one number for each degree.
template <typename T>
struct AngularTangents<T, kAnyOrder, 1> {
  static constexpr int kThreads = kDescriptorThreads;
  AngularInput<T> in;
  const int32_t* atoms;
  const T* moments;
  Motion<T> motion;
  T* tangents;

  RUTILE_DEVICE void operator()(int64_t t) const {
    const AngularTables<T>& tables = in.tables;
    const int64_t atom = atoms[t], stride = in.pairs.num_atoms;
    const T* const from = moments + in.Moments(0, atom);
    T by_degree[kMaxOrder + 1] = {};
    T self = 0;
    const int count = in.count[atom];
    SlotReader<T> slots = in.template Slots<1>(atom);
    MotionReader<T> moves(in.pairs, motion, t, atom, count);
    for (int k = 0; k < count; ++k) {
      const LoadedSlot<T> at = slots.Take();
      const Direction<T> u(at);
      const SlotChange<T> du = moves.Take(at, u);
      const CutoffValues<T> f = Cutoff(u.r, tables.inverse_square);
      PowerChange<T> power = {f.value * at.spin, T(0), f.slope * at.spin * du.r, T(0), T(0), T(0)};
      self += power.real * power.real_dot;
      for (int m = 0; m <= tables.order; ++m) {
        const PlacesOfM place(tables.order, m);
        ForEachDegree(tables, m, u.z + u.z, [&](int l, T value) {
          const auto h = [&](int b) { return tables.weight[b + l] * from[(b + l) * stride]; };
          T sum = h(place.real) * power.real_dot;
          if (m > 0) sum += h(place.imaginary) * power.imaginary_dot;
          T below = m > 0 ? h(place.real_below) * power.z_real : T(0);
          if (m > 1) below += h(place.imaginary_below) * power.z_imaginary;
          by_degree[l] += 2 * value * (sum + T(l - m + 1) * below);
        });
        power.Raise(u, du);
      }
    }
    StoreFeaturesOfAnyOrder(tables, by_degree, self, tangents + atom * in.num_features + in.Column(0));
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_HIGH_ORDER_BODIES_INL_H_
