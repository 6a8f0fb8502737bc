// Kernels that sum the derivatives by pair vectors up to forces and strain gradients.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_PAIR_SLOPE_BODIES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_PAIR_SLOPE_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/device_function.h"
#include "lib/potential/gpu/bodies/slot_geometry-inl.h"
#include "lib/potential/gpu/pair_slots.h"

namespace rutile {

// Computes forces -dE/dr: an atom's own pairs pull it, and so do, the other way, the same pairs seen from their other
// ends. t counts the atoms asked for; slopes must be there for them and for their neighbors.
template <typename T>
struct PairForces {
  static constexpr int kThreads = kDescriptorThreads;
  PairSlots<T> pairs;
  const int32_t* atoms;  // [n]
  SlotSlopes<const T> slopes;
  T* force;  // [3A]

  RUTILE_DEVICE void operator()(int64_t t) const {
    const int64_t atom = atoms[t];
    const int count = pairs.count[atom];
    int64_t slot = pairs.Slot(atom, 0);
    T x = 0, y = 0, z = 0;
    for (int k = 0; k < count; ++k, slot += kGroupAtoms) {
      const int32_t reverse = pairs.reverse[slot];
      x += slopes.x[slot];
      y += slopes.y[slot];
      z += slopes.z[slot];
      if (reverse < 0) continue;
      x -= slopes.x[reverse];
      y -= slopes.y[reverse];
      z -= slopes.z[reverse];
    }
    force[3 * atom] = x;
    force[3 * atom + 1] = y;
    force[3 * atom + 2] = z;
  }
};

// Computes each atom's part of the strain gradient, the sum over its pairs of dE/dr_ij (outer) r_ij. t counts the atoms
// asked for.
template <typename T>
struct PairStrainGradients {
  static constexpr int kThreads = kDescriptorThreads;
  PairSlots<T> pairs;
  const int32_t* atoms;  // [n]
  SlotSlopes<const T> slopes;
  T* strain;  // [n, 9] row-major

  RUTILE_DEVICE void operator()(int64_t t) const {
    const int64_t atom = atoms[t];
    const int count = pairs.count[atom];
    int64_t slot = pairs.Slot(atom, 0);
    T sum[9] = {};
    for (int k = 0; k < count; ++k, slot += kGroupAtoms) {
      const T slope[3] = {slopes.x[slot], slopes.y[slot], slopes.z[slot]};
      const T vector[3] = {pairs.x[slot], pairs.y[slot], pairs.z[slot]};
      RUTILE_UNROLL
      for (int a = 0; a < 9; ++a) sum[a] += slope[a / 3] * vector[a % 3];
    }
    RUTILE_UNROLL
    for (int a = 0; a < 9; ++a) strain[9 * t + a] = sum[a];
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_PAIR_SLOPE_BODIES_INL_H_
