#include "lib/descriptor/kernels/derivative_kernel.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lib/base/logging.h"
#include "lib/descriptor/kernels/neighbor_selection.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/descriptor/kernels/derivative_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/descriptor/kernels/angular_moments-inl.h"
#include "lib/descriptor/kernels/contract_moments-inl.h"
#include "lib/descriptor/kernels/force_scatter-inl.h"
#include "lib/descriptor/kernels/group_layout-inl.h"
#include "lib/descriptor/kernels/interleave-inl.h"
#include "lib/descriptor/kernels/radial_basis-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// --- Features ---

template <typename T>
HWY_INLINE void Features(const ChebyshevTables<T>& tables, const StructureGeometry& geometry,
                         InterleavedNeighbors<T>* state, T* features) {
  constexpr LaneTag<T> d = {};
  const size_t lanes = hn::Lanes(d);
  state->lanes = static_cast<int>(lanes);
  state->num_atoms = geometry.species.size();
  state->num_centers = geometry.pairs.num_atoms();
  state->sampled.clear();
  NeighborBlocks<T>& all = state->sorted;
  SortNeighbors(d, tables, geometry, &state->sort, &all);
  if (tables.method != AngularMethod::kTriplets) {
    all.moments.Resize(all.num_groups * NumMoments(tables) * lanes);
  }
  state->all = all.view();
  const GroupLayout<T> k = {tables, state, state->all};

  Arena<T> arena = k.MakeArena();
  T* const row = arena.Take(tables.num_features);
  T* const radial_sums = arena.Take(k.radial);
  T* const angular_sums = arena.Take(std::max(k.harmonics, k.angular));
  T* const square = arena.Take(1);
  T* const self = arena.Take(2);
  T* const by_degree = arena.Take(k.angular);
  for (int64_t g = 0; g < all.num_groups; ++g) {
    FillZero(d, tables.num_features, row);
    for (int s = 0; s < k.num_species; ++s) {
      if (k.Block(g, s).radial == 0) continue;
      FillZero(d, k.radial, radial_sums);
      AddRadial(d, tables, k.SlotsOf(g, s).r, k.Block(g, s).radial, radial_sums);
      AddScaled(d, T(1), radial_sums, k.radial, row);
      if (k.num_weights > 1) AddScaled(d, tables.spins[s], radial_sums, k.radial, row + k.RadialRow(1));
    }
    if (k.triplets) {
      TripletFeatures(k, g, angular_sums, row);
    } else {
      T* const moments = all.moments.data() + k.MomentsOf(g, 0);
      FillZero(d, k.num_weights * k.harmonics, moments);
      FillZero(d, 2, self);
      for (int s = 0; s < k.num_species; ++s) {
        if (k.Block(g, s).angular == 0) continue;
        const T spin = tables.spins[s];
        DispatchLaneMoments(d, tables, k.SlotsOf(g, s), k.Block(g, s).angular, angular_sums, square);
        AddScaled(d, T(1), angular_sums, k.harmonics, moments);
        AddScaled(d, T(1), square, 1, self);
        if (k.num_weights == 1) continue;
        AddScaled(d, spin, angular_sums, k.harmonics, moments + k.harmonics * lanes);
        AddScaled(d, spin * spin, square, 1, self + lanes);
      }
      for (int w = 0; w < k.num_weights; ++w) {
        const T* const b = all.moments.data() + k.MomentsOf(g, w);
        ContractMoments(d, tables, b, b, T(1), self + w * lanes, T(0.5), by_degree, row + k.AngularRow(w));
      }
    }
    StoreRows(d, row, k.Atoms(g), state->num_atoms, tables.num_features, features);
  }
}

// --- The vector-Jacobian product ---

template <bool kStrain, typename T>
HWY_NOINLINE void Vjp(const GroupLayout<T>& k, const T* slopes, double* strain_gradient, double* atom_strain) {
  using V = typename GroupLayout<T>::V;
  const auto d = k.d;
  const ChebyshevTables<T>& tables = k.tables;
  const size_t lanes = k.lanes;
  const int64_t num_atoms = k.state->num_atoms;
  const bool weighted = k.num_weights > 1;
  T* const force4 = k.state->vector4.data();

  Arena<T> arena = k.MakeArena();
  T* const q = arena.Take(tables.num_features);
  T* const base = arena.Take(2 * k.harmonics);
  T* const h = arena.Take(k.harmonics);
  T* const h_z = arena.Take(k.harmonics);
  T* const by_degree = arena.Take(k.angular);
  T* const half_self = arena.Take(2);
  T* const species_self = arena.Take(1);
  T* const value = arena.Take(std::max(k.radial, k.angular));
  T* const slope = arena.Take(std::max(k.radial, k.angular));
  T* const center_buffer = arena.Take(3);
  for (int64_t g = 0; g < k.neighbors.num_groups; ++g) {
    const int32_t* const atoms = k.Atoms(g);
    const size_t size = k.Size(g);
    k.state->slots.Resize(7 * size);
    T *const all_x = k.state->slots.data(), *const all_y = all_x + size, *const all_z = all_y + size;
    T* const all_along = all_z + size;
    LoadRows(d, slopes, atoms, num_atoms, tables.num_features, q);
    if (k.triplets) {
      TripletSlopes(k, g, q, value, slope, all_x, all_y, all_z, all_along + size);
    } else {
      for (int w = 0; w < k.num_weights; ++w) {
        ContractSlopes(d, tables, k.neighbors.moments + k.MomentsOf(g, w), q + k.AngularRow(w), by_degree,
                       base + w * k.harmonics * lanes, half_self + w * lanes);
      }
    }
    Vector3<V> center = {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    StrainSums<V> strain = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (int s = 0; s < k.num_species; ++s) {
      const auto& block = k.Block(g, s);
      if (block.slots == 0) continue;
      const Slots<T> slots = k.SlotsOf(g, s);
      const size_t before = k.Before(g, s);
      T *const x = all_x + before, *const y = all_y + before, *const z = all_z + before;
      T* const along = all_along + before;
      const T spin = tables.spins[s];
      if (block.angular > 0 && !k.triplets) {
        Join(d, base, weighted ? base + k.harmonics * lanes : nullptr, spin, k.harmonics, h);
        Join(d, half_self, weighted ? half_self + lanes : nullptr, spin * spin, 1, species_self);
        ScaleByDegree(d, tables.ang_order, h, h_z);
        DispatchLaneSlopes(d, tables, slots, block.angular, h, h_z, species_self, x, y, z);
      }
      if (block.radial > 0) {
        Join(d, q, weighted ? q + k.RadialRow(1) : nullptr, spin, k.radial, value);
        SlopeCoefficients(d, tables.rad_order, tables.rad_scale, value, slope);
        RadialSlope(d, tables, slots.r, block.radial, value, slope, along);
        AddAlong(d, slots, along, block.radial, block.angular, x, y, z);
      }
      AddForces<kStrain>(d, slots, k.Indices(g, s), block.slots, x, y, z, force4, &center, &strain);
      if (atom_strain == nullptr) continue;
      AddAtomStrains(d, slots, atoms, k.Indices(g, s), block.slots, num_atoms, x, y, z, atom_strain);
    }
    hn::Store(center.x, d, center_buffer);
    hn::Store(center.y, d, center_buffer + lanes);
    hn::Store(center.z, d, center_buffer + 2 * lanes);
    for (size_t lane = 0; lane < lanes; ++lane) {
      T* const own = force4 + 4 * kForceSums * int64_t{atoms[lane]};
      for (int axis = 0; axis < 3; ++axis) own[axis] += center_buffer[axis * lanes + lane];
    }
    if constexpr (kStrain) {
      const V parts[6] = {strain.xx, strain.xy, strain.xz, strain.yy, strain.yz, strain.zz};
      constexpr int kAt[6] = {0, 1, 2, 4, 5, 8};
      for (int n = 0; n < 6; ++n) strain_gradient[kAt[n]] += hn::GetLane(hn::SumOfLanes(d, parts[n]));
    }
  }
}

// --- The Jacobian-vector product ---

template <bool kStrain, typename T>
HWY_NOINLINE void Jvp(const GroupLayout<T>& k, const double* strain, T* tangents) {
  using V = typename GroupLayout<T>::V;
  const auto d = k.d;
  const ChebyshevTables<T>& tables = k.tables;
  const size_t lanes = k.lanes;
  const T* const vector4 = k.state->vector4.data();
  T strain_t[9] = {};
  if constexpr (kStrain) std::copy_n(strain, 9, strain_t);

  Arena<T> arena = k.MakeArena();
  T* const row = arena.Take(tables.num_features);
  T* const value = arena.Take(std::max(k.radial, k.angular));
  T* const slope = arena.Take(std::max(k.radial, k.angular));
  T* const moments = arena.Take(k.harmonics);
  T* const changes = arena.Take(2 * k.harmonics);
  T* const product = arena.Take(1);
  T* const self = arena.Take(2);
  T* const by_degree = arena.Take(k.angular);
  T* const center_buffer = arena.Take(3);
  for (int64_t g = 0; g < k.neighbors.num_groups; ++g) {
    const int32_t* const atoms = k.Atoms(g);
    const size_t size = k.Size(g);
    k.state->slots.Resize(7 * size);
    T *const all_x = k.state->slots.data(), *const all_y = all_x + size, *const all_z = all_y + size;
    T* const all_r = all_z + size;
    FillZero(d, tables.num_features, row);
    FillZero(d, k.num_weights * k.harmonics, changes);
    FillZero(d, 2, self);
    for (size_t lane = 0; lane < lanes; ++lane) {
      for (int axis = 0; axis < 3; ++axis) {
        center_buffer[axis * lanes + lane] = vector4[4 * int64_t{atoms[lane]} + axis];
      }
    }
    const Vector3<V> center = {hn::Load(d, center_buffer), hn::Load(d, center_buffer + lanes),
                               hn::Load(d, center_buffer + 2 * lanes)};
    for (int s = 0; s < k.num_species; ++s) {
      const auto& block = k.Block(g, s);
      if (block.slots == 0) continue;
      const Slots<T> slots = k.SlotsOf(g, s);
      const size_t before = k.Before(g, s);
      T *const x = all_x + before, *const y = all_y + before, *const z = all_z + before, *const r = all_r + before;
      SlotChanges<kStrain>(d, slots, k.Indices(g, s), block.slots, block.angular, vector4, center, strain_t, x, y, z,
                           r);
      const T spin = tables.spins[s];
      if (block.radial > 0) {
        FillZero(d, k.radial, value);
        FillZero(d, k.radial, slope);
        AddRadialTangent(d, tables, slots.r, r, block.radial, value, slope);
        AddPolynomialSlopes(d, tables.rad_order, slope, value);
        AddScaled(d, T(1), value, k.radial, row);
        if (k.num_weights > 1) AddScaled(d, spin, value, k.radial, row + k.RadialRow(1));
      }
      if (block.angular == 0 || k.triplets) continue;
      DispatchLaneTangents(d, tables, slots, {x, y, z, r}, block.angular, moments, product);
      AddScaled(d, T(1), moments, k.harmonics, changes);
      AddScaled(d, T(1), product, 1, self);
      if (k.num_weights == 1) continue;
      AddScaled(d, spin, moments, k.harmonics, changes + k.harmonics * lanes);
      AddScaled(d, spin * spin, product, 1, self + lanes);
    }
    if (k.triplets) {
      TripletChanges(k, g, value, slope, all_x, all_y, all_z, all_r, all_r + size, row);
    } else {
      for (int w = 0; w < k.num_weights; ++w) {
        ContractMoments(d, tables, k.neighbors.moments + k.MomentsOf(g, w), changes + w * k.harmonics * lanes, T(2),
                        self + w * lanes, T(1), by_degree, row + k.AngularRow(w));
      }
    }
    StoreRows(d, row, atoms, k.state->num_atoms, tables.num_features, tangents);
  }
}

// Returns the neighbors that a product with `sampled` runs over.
template <typename T>
HWY_INLINE InterleavedView<T> Select(const ChebyshevTables<T>& tables, absl::Span<const uint8_t> sampled,
                                     InterleavedNeighbors<T>* state) {
  CHECK_EQ(state->lanes, static_cast<int>(hn::Lanes(LaneTag<T>())))
      << "Features ran on another instruction set than its products";
  return SelectSampled(tables, sampled, state);
}

template <typename T>
HWY_INLINE void VjpStructure(const ChebyshevTables<T>& tables, InterleavedNeighbors<T>* state, const T* slopes,
                             absl::Span<const uint8_t> sampled, T* force, double* strain_gradient,
                             double* atom_strain) {
  const GroupLayout<T> kernel = {tables, state, Select(tables, sampled, state)};
  const int64_t num_atoms = state->num_atoms;
  state->vector4.Resize(4 * kForceSums * (num_atoms + 1));
  T* const force4 = state->vector4.data();
  std::fill_n(force4, 4 * kForceSums * (num_atoms + 1), T(0));
  if (strain_gradient == nullptr) {
    Vjp<false>(kernel, slopes, nullptr, nullptr);
  } else {
    std::fill_n(strain_gradient, 9, 0.0);
    if (atom_strain != nullptr) std::fill_n(atom_strain, 9 * num_atoms, 0.0);
    Vjp<true>(kernel, slopes, strain_gradient, atom_strain);
    strain_gradient[3] = strain_gradient[1];
    strain_gradient[6] = strain_gradient[2];
    strain_gradient[7] = strain_gradient[5];
  }
  for (int64_t i = 0; i < num_atoms; ++i) {
    const T* const sums = force4 + 4 * kForceSums * i;
    for (int axis = 0; axis < 3; ++axis) {
      force[3 * i + axis] = (sums[axis] + sums[4 + axis]) + (sums[8 + axis] + sums[12 + axis]);
    }
  }
}

template <typename T>
HWY_INLINE void JvpStructure(const ChebyshevTables<T>& tables, InterleavedNeighbors<T>* state, const T* direction,
                             absl::Span<const uint8_t> sampled, const double* strain, T* tangents) {
  const GroupLayout<T> kernel = {tables, state, Select(tables, sampled, state)};
  const int64_t num_atoms = state->num_atoms;
  // Centers that the selection leaves out do not change.
  if (kernel.neighbors.atom != state->all.atom) std::fill_n(tangents, state->num_centers * tables.num_features, T(0));
  state->vector4.Resize(4 * (num_atoms + 1));
  T* const vector4 = state->vector4.data();
  for (int64_t i = 0; i < num_atoms; ++i) {
    for (int axis = 0; axis < 3; ++axis) vector4[4 * i + axis] = direction[3 * i + axis];
  }
  std::fill_n(vector4 + 4 * num_atoms, 4, T(0));
  if (strain == nullptr) {
    Jvp<false, T>(kernel, nullptr, tangents);
  } else {
    Jvp<true>(kernel, strain, tangents);
  }
}

void FeaturesFloat(const ChebyshevTables<float>& tables, const StructureGeometry& geometry,
                   InterleavedNeighbors<float>* state, float* features) {
  Features(tables, geometry, state, features);
}
void FeaturesDouble(const ChebyshevTables<double>& tables, const StructureGeometry& geometry,
                    InterleavedNeighbors<double>* state, double* features) {
  Features(tables, geometry, state, features);
}
void VjpFloat(const ChebyshevTables<float>& tables, InterleavedNeighbors<float>* state, const float* slopes,
              absl::Span<const uint8_t> sampled, float* force, double* strain_gradient, double* atom_strain) {
  VjpStructure(tables, state, slopes, sampled, force, strain_gradient, atom_strain);
}
void VjpDouble(const ChebyshevTables<double>& tables, InterleavedNeighbors<double>* state, const double* slopes,
               absl::Span<const uint8_t> sampled, double* force, double* strain_gradient, double* atom_strain) {
  VjpStructure(tables, state, slopes, sampled, force, strain_gradient, atom_strain);
}
void JvpFloat(const ChebyshevTables<float>& tables, InterleavedNeighbors<float>* state, const float* direction,
              absl::Span<const uint8_t> sampled, const double* strain, float* tangents) {
  JvpStructure(tables, state, direction, sampled, strain, tangents);
}
void JvpDouble(const ChebyshevTables<double>& tables, InterleavedNeighbors<double>* state, const double* direction,
               absl::Span<const uint8_t> sampled, const double* strain, double* tangents) {
  JvpStructure(tables, state, direction, sampled, strain, tangents);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {
namespace {

HWY_EXPORT(FeaturesFloat);
HWY_EXPORT(FeaturesDouble);
HWY_EXPORT(VjpFloat);
HWY_EXPORT(VjpDouble);
HWY_EXPORT(JvpFloat);
HWY_EXPORT(JvpDouble);

}  // namespace

template <>
void InterleavedFeatures(const ChebyshevTables<float>& tables, const StructureGeometry& geometry,
                         InterleavedNeighbors<float>* state, float* features) {
  HWY_DYNAMIC_DISPATCH(FeaturesFloat)(tables, geometry, state, features);
}

template <>
void InterleavedFeatures(const ChebyshevTables<double>& tables, const StructureGeometry& geometry,
                         InterleavedNeighbors<double>* state, double* features) {
  HWY_DYNAMIC_DISPATCH(FeaturesDouble)(tables, geometry, state, features);
}

template <>
void InterleavedVjp(const ChebyshevTables<float>& tables, InterleavedNeighbors<float>* state, const float* slopes,
                    absl::Span<const uint8_t> sampled, float* force, double* strain_gradient, double* atom_strain) {
  HWY_DYNAMIC_DISPATCH(VjpFloat)(tables, state, slopes, sampled, force, strain_gradient, atom_strain);
}

template <>
void InterleavedVjp(const ChebyshevTables<double>& tables, InterleavedNeighbors<double>* state, const double* slopes,
                    absl::Span<const uint8_t> sampled, double* force, double* strain_gradient, double* atom_strain) {
  HWY_DYNAMIC_DISPATCH(VjpDouble)(tables, state, slopes, sampled, force, strain_gradient, atom_strain);
}

template <>
void InterleavedJvp(const ChebyshevTables<float>& tables, InterleavedNeighbors<float>* state, const float* direction,
                    absl::Span<const uint8_t> sampled, const double* strain, float* tangents) {
  HWY_DYNAMIC_DISPATCH(JvpFloat)(tables, state, direction, sampled, strain, tangents);
}

template <>
void InterleavedJvp(const ChebyshevTables<double>& tables, InterleavedNeighbors<double>* state, const double* direction,
                    absl::Span<const uint8_t> sampled, const double* strain, double* tangents) {
  HWY_DYNAMIC_DISPATCH(JvpDouble)(tables, state, direction, sampled, strain, tangents);
}

}  // namespace rutile

#endif  // HWY_ONCE
