// Launches the kernels of the Chebyshev descriptor on a backend of lib/gpu: features, the products with their
// derivatives that descriptor_derivatives.h defines, and what lies between.
//
// Arrays are in the memory of the backend. A is the number of atoms in `pairs`, and P that of slots; `atoms` are the n
// ones that a product is computed for. Nothing is summed in an order that is not fixed, so that results have the same
// bits each time.

#ifndef RUTILE_LIB_POTENTIAL_GPU_BODIES_DESCRIPTOR_BODIES_INL_H_
#define RUTILE_LIB_POTENTIAL_GPU_BODIES_DESCRIPTOR_BODIES_INL_H_

#include <cstdint>

#include "lib/potential/gpu/bodies/angular_bodies-inl.h"
#include "lib/potential/gpu/bodies/high_order_bodies-inl.h"
#include "lib/potential/gpu/bodies/pair_slope_bodies-inl.h"
#include "lib/potential/gpu/bodies/radial_bodies-inl.h"
#include "lib/potential/gpu/bodies/slot_geometry-inl.h"
#include "lib/potential/gpu/descriptor_views.h"
#include "lib/potential/gpu/pair_slots.h"

namespace rutile {

// A number as a type, for templates that are chosen at run time.
template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

// Calls launch(size, halves) with constants: room for the radial order, and 1 or 2 halves.
template <typename Launch>
void WithRadialSize(int order, bool weighted, const Launch& launch) {
  const auto with_size = [&](auto size) { weighted ? launch(size, Constant<2>()) : launch(size, Constant<1>()); };
  if (order < 8) return with_size(Constant<8>());
  if (order < 12) return with_size(Constant<12>());
  if (order < 16) return with_size(Constant<16>());
  if (order < 24) return with_size(Constant<24>());
  with_size(Constant<kMaxOrder + 1>());
}

// Whether both halves of the harmonics of an order fit in registers, of which a thread has 255.
template <typename T>
constexpr bool BothHalvesFit(int order) {
  return 2 * (order + 1) * (order + 1) * sizeof(T) <= 512;
}

// Calls launch(order, halves, half) with constants but for the half, once or, if halves are computed one by one, twice.
template <typename T, int kOrder = kHighestUnrolledOrder, typename Launch>
void WithAngularOrder(int order, bool weighted, const Launch& launch) {
  if constexpr (kOrder >= 0) {
    if (order != kOrder) return WithAngularOrder<T, kOrder - 1>(order, weighted, launch);
    if constexpr (BothHalvesFit<T>(kOrder)) {
      if (weighted) return launch(Constant<kOrder>(), Constant<2>(), 0);
    }
  }
  for (int half = 0; half < (weighted ? 2 : 1); ++half) launch(Constant<kOrder>(), Constant<1>(), half);
}

// Calls launch(order, halves, input) for set s. Orders above kHighestUnrolledOrder come as kAnyOrder.
template <typename T, typename Launch>
void WithAngularSet(const DescriptorTables<T>& tables, const PairSlots<T>& pairs, int s, const Launch& launch) {
  WithAngularOrder<T>(tables.set[s].order, tables.weighted, [&](auto order, auto halves, int half) {
    launch(order, halves, AngularInput<T>{tables.set[s], pairs, pairs.angular_count[s], tables.num_features, half});
  });
}

// The same for all sets.
template <typename T, typename Launch>
void ForEachAngularSet(const DescriptorTables<T>& tables, const PairSlots<T>& pairs, const Launch& launch) {
  for (int s = 0; s < tables.num_sets; ++s) WithAngularSet(tables, pairs, s, launch);
}

// Computes features, [A, F], and moments, [num_moments, A].
template <typename T, typename Backend>
void ComputeFeatures(Backend* backend, const DescriptorTables<T>& tables, const PairSlots<T>& pairs, T* features,
                     T* moments) {
  WithRadialSize(tables.radial.order, tables.weighted, [&](auto size, auto halves) {
    backend->ForEach(pairs.num_atoms, RadialFeatures<T, decltype(size)::value, decltype(halves)::value>{
                                          tables.radial, pairs, tables.num_features, features});
  });
  ForEachAngularSet(tables, pairs, [&](auto order, auto halves, const AngularInput<T>& in) {
    backend->ForEach(pairs.num_atoms,
                     AngularFeatures<T, decltype(order)::value, decltype(halves)::value>{in, features, moments});
  });
}

// Computes the slopes dE_i/dr_ij, [P] each, of all pairs of the atoms i from q = dE/dG, [A, F].
template <typename T, typename Backend>
void ComputePairSlopes(Backend* backend, const DescriptorTables<T>& tables, const PairSlots<T>& pairs,
                       const int32_t* atoms, int64_t n, const T* q, const T* moments, T* slope_x, T* slope_y,
                       T* slope_z) {
  const SlotSlopes<T> slopes = {slope_x, slope_y, slope_z};
  WithRadialSize(tables.radial.order, tables.weighted, [&](auto size, auto halves) {
    backend->ForEach(n, RadialSlopes<T, decltype(size)::value, decltype(halves)::value>{
                            tables.radial, pairs, tables.num_features, atoms, q, slopes});
  });
  ForEachAngularSet(tables, pairs, [&](auto order, auto halves, const AngularInput<T>& in) {
    backend->ForEach(n,
                     AngularSlopes<T, decltype(order)::value, decltype(halves)::value>{in, atoms, q, moments, slopes});
  });
}

// Computes force[3a + c] = -dE/dr of the atoms a. Slopes must be there for the atoms and for their neighbors.
template <typename T, typename Backend>
void ComputeForces(Backend* backend, const PairSlots<T>& pairs, const int32_t* atoms, int64_t n, const T* slope_x,
                   const T* slope_y, const T* slope_z, T* force) {
  backend->ForEach(n, PairForces<T>{pairs, atoms, {slope_x, slope_y, slope_z}, force});
}

// Computes strain, [n, 9]: each atom's part of the strain gradient.
template <typename T, typename Backend>
void ComputeStrainGradients(Backend* backend, const PairSlots<T>& pairs, const int32_t* atoms, int64_t n,
                            const T* slope_x, const T* slope_y, const T* slope_z, T* strain) {
  backend->ForEach(n, PairStrainGradients<T>{pairs, atoms, {slope_x, slope_y, slope_z}, strain});
}

// Computes the rows of `tangents`, [A, F], of the atoms. Radial features and the sets have columns of their own.
template <typename T, typename Backend>
void ComputeTangents(Backend* backend, const DescriptorTables<T>& tables, const PairSlots<T>& pairs,
                     const int32_t* atoms, int64_t n, const T* moments, const Motion<T>& motion, T* tangents) {
  backend->SideBySide(1 + tables.num_sets, [&](int part) {
    if (part < tables.num_sets) {
      return WithAngularSet(tables, pairs, part, [&](auto order, auto halves, const AngularInput<T>& in) {
        backend->ForEach(n, AngularTangents<T, decltype(order)::value, decltype(halves)::value>{in, atoms, moments,
                                                                                                motion, tangents});
      });
    }
    WithRadialSize(tables.radial.order, tables.weighted, [&](auto size, auto halves) {
      backend->ForEach(n, RadialTangents<T, decltype(size)::value, decltype(halves)::value>{
                              tables.radial, pairs, tables.num_features, atoms, motion, tangents});
    });
  });
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_BODIES_DESCRIPTOR_BODIES_INL_H_
