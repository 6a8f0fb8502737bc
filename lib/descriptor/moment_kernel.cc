#include "lib/descriptor/moment_kernel.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lib/base/logging.h"
#include "lib/descriptor/sampled_lanes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/descriptor/moment_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/base/simd.h"
#include "lib/descriptor/lane_angular-inl.h"
#include "lib/descriptor/lane_products-inl.h"
#include "lib/descriptor/lane_radial-inl.h"
#include "lib/descriptor/lane_sort-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

template <typename T>
using LaneTag = hn::CappedTag<T, 32 / sizeof(T)>;

// Pieces of one buffer, whole vectors each.
template <typename T>
class Arena {
 public:
  Arena(AlignedVector<T>* buffer, size_t lanes, size_t vectors) : lanes_(lanes), vectors_(vectors) {
    buffer->Resize(vectors * lanes);
    next_ = buffer->data();
  }
  T* Take(int vectors) {
    T* const taken = next_;
    next_ += vectors * lanes_;
    DCHECK_LE(vectors, vectors_);
    return taken;
  }

 private:
  T* next_;
  size_t lanes_, vectors_;
};

// Enough for what any of the three kernels takes.
template <typename T>
size_t GroupVectors(const ChebyshevTables<T>& tables) {
  return tables.num_features + 8 * (tables.rad_order + 1) + 6 * tables.num_harmonics + tables.ang_order + 1 + 8;
}

template <typename T>
HWY_INLINE Slots<T> SlotsOf(const NeighborLanes<T>& neighbors, size_t at) {
  return {neighbors.x.data() + at, neighbors.y.data() + at, neighbors.z.data() + at, neighbors.r.data() + at};
}

template <typename T>
HWY_INLINE void Features(const ChebyshevTables<T>& tables, const StructureGeometry& geometry, MomentState<T>* state,
                         T* features) {
  const LaneTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const int num_species = static_cast<int>(tables.spins.size()), num_weights = num_species > 1 ? 2 : 1;
  const int radial = tables.rad_order + 1, angular = tables.ang_order + 1, harmonics = tables.num_harmonics;
  state->lanes = static_cast<int>(lanes);
  state->num_atoms = geometry.species.size();
  state->sampled.clear();
  NeighborLanes<T>& all = state->all;
  SortNeighbors(d, tables, geometry, &state->sort, &all);
  all.moments.Resize(all.num_groups * num_weights * harmonics * lanes);

  Arena<T> arena(&state->group, lanes, GroupVectors(tables));
  T* const row = arena.Take(tables.num_features);
  T* const radial_sums = arena.Take(radial);
  T* const moments = arena.Take(harmonics);
  T* const square = arena.Take(1);
  T* const self = arena.Take(2);
  T* const by_degree = arena.Take(angular);
  for (int64_t g = 0; g < all.num_groups; ++g) {
    T* const group_moments = all.moments.data() + g * num_weights * harmonics * lanes;
    FillZero(d, tables.num_features, row);
    FillZero(d, num_weights * harmonics, group_moments);
    FillZero(d, 2, self);
    for (int s = 0; s < num_species; ++s) {
      const auto& block = all.block[g * num_species + s];
      const Slots<T> slots = SlotsOf(all, block.begin * lanes);
      const T spin = tables.spins[s];
      if (block.radial > 0) {
        FillZero(d, radial, radial_sums);
        AddRadial(d, tables, slots.r, block.radial, radial_sums);
        AddScaled(d, T(1), radial_sums, radial, row);
        if (num_weights > 1) AddScaled(d, spin, radial_sums, radial, row + (radial + angular) * lanes);
      }
      if (block.angular == 0) continue;
      DispatchLaneMoments(d, tables, slots, block.angular, moments, square);
      AddScaled(d, T(1), moments, harmonics, group_moments);
      AddScaled(d, T(1), square, 1, self);
      if (num_weights == 1) continue;
      AddScaled(d, spin, moments, harmonics, group_moments + harmonics * lanes);
      AddScaled(d, spin * spin, square, 1, self + lanes);
    }
    for (int w = 0; w < num_weights; ++w) {
      const T* const b = group_moments + w * harmonics * lanes;
      ContractMoments(d, tables, b, b, T(1), self + w * lanes, T(0.5), by_degree,
                      row + (w * (radial + angular) + radial) * lanes);
    }
    StoreRows(d, row, &all.atom[g * lanes], state->num_atoms, tables.num_features, features);
  }
}

// Sums over pairs of d (outer) r_ij, symmetric as the features do not change when the structure turns.
template <class V>
struct StrainSums {
  V xx, xy, xz, yy, yz, zz;
};

// Forces of one block from the derivatives by r_ij in `scratch`; what the centres gain.
template <bool kStrain, class D, class V, typename T = hn::TFromD<D>>
HWY_NOINLINE void AddForces(D d, const Slots<T>& slots, const int32_t* j, size_t count, const T* x, const T* y,
                            const T* z, T* force4, Vector3<V>* centre, StrainSums<V>* strain) {
  const size_t lanes = hn::Lanes(d);
  Vector3<V> sum = *centre;
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V dx = hn::Load(d, x + p), dy = hn::Load(d, y + p), dz = hn::Load(d, z + p);
    sum = {hn::Add(sum.x, dx), hn::Add(sum.y, dy), hn::Add(sum.z, dz)};
    if constexpr (kStrain) {
      const V r = hn::Load(d, slots.r + p);
      const V rx = hn::Mul(r, hn::Load(d, slots.x + p)), ry = hn::Mul(r, hn::Load(d, slots.y + p));
      const V rz = hn::Mul(r, hn::Load(d, slots.z + p));
      *strain = {hn::MulAdd(dx, rx, strain->xx), hn::MulAdd(dx, ry, strain->xy), hn::MulAdd(dx, rz, strain->xz),
                 hn::MulAdd(dy, ry, strain->yy), hn::MulAdd(dy, rz, strain->yz), hn::MulAdd(dz, rz, strain->zz)};
    }
    SubtractAtAtoms(d, dx, dy, dz, j + p, force4);
  }
  *centre = sum;
}

template <bool kStrain, typename T>
HWY_NOINLINE void Vjp(const ChebyshevTables<T>& tables, const NeighborLanes<T>& neighbors, MomentState<T>* state,
                      const T* slopes, double* strain_gradient) {
  const LaneTag<T> d;
  using V = hn::Vec<LaneTag<T>>;
  const size_t lanes = hn::Lanes(d);
  const int num_species = static_cast<int>(tables.spins.size()), num_weights = num_species > 1 ? 2 : 1;
  const int radial = tables.rad_order + 1, angular = tables.ang_order + 1, harmonics = tables.num_harmonics;
  const int64_t num_atoms = state->num_atoms;
  T* const force4 = state->vector4.data();

  Arena<T> arena(&state->group, lanes, GroupVectors(tables));
  T* const q = arena.Take(tables.num_features);
  T* const base = arena.Take(2 * harmonics);
  T* const h = arena.Take(harmonics);
  T* const h_z = arena.Take(harmonics);
  T* const by_degree = arena.Take(angular);
  T* const half_self = arena.Take(2);
  T* const species_self = arena.Take(1);
  T* const value = arena.Take(radial);
  T* const slope = arena.Take(radial);
  T* const centre_buffer = arena.Take(3);
  const T* const spin_q = q + (radial + angular) * lanes;
  for (int64_t g = 0; g < neighbors.num_groups; ++g) {
    const int32_t* const atoms = &neighbors.atom[g * lanes];
    LoadRows(d, slopes, atoms, num_atoms, tables.num_features, q);
    for (int w = 0; w < num_weights; ++w) {
      ContractSlopes(d, tables, neighbors.moments.data() + (g * num_weights + w) * harmonics * lanes,
                     q + (w * (radial + angular) + radial) * lanes, by_degree, base + w * harmonics * lanes,
                     half_self + w * lanes);
    }
    Vector3<V> centre = {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    StrainSums<V> strain = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (int s = 0; s < num_species; ++s) {
      const auto& block = neighbors.block[g * num_species + s];
      if (block.slots == 0) continue;
      const Slots<T> slots = SlotsOf(neighbors, block.begin * lanes);
      const size_t size = block.slots * lanes;
      state->slots.Resize(4 * size);
      T *const x = state->slots.data(), *const y = x + size, *const z = y + size, *const along = z + size;
      const T spin = tables.spins[s];
      // spin-weighted coefficients joined with the plain ones
      const auto join = [&](const T* plain, const T* spun, T factor, int count, T* to) HWY_ATTR {
        for (size_t k = 0; k < count * lanes; k += lanes) {
          V sum = hn::Load(d, plain + k);
          if (num_weights > 1) sum = hn::MulAdd(hn::Set(d, factor), hn::Load(d, spun + k), sum);
          hn::Store(sum, d, to + k);
        }
      };
      if (block.angular > 0) {
        join(base, base + harmonics * lanes, spin, harmonics, h);
        join(half_self, half_self + lanes, spin * spin, 1, species_self);
        ScaleByDegree(d, tables.ang_order, h, h_z);
        DispatchLaneSlopes(d, tables, slots, block.angular, h, h_z, species_self, x, y, z);
      }
      if (block.radial > 0) {
        join(q, spin_q, spin, radial, value);
        SlopeCoefficients(d, tables, value, slope);
        RadialSlope(d, tables, slots.r, block.radial, value, slope, along);
      }
      for (size_t p = 0; p < block.radial * lanes; p += lanes) {
        const V a = hn::Load(d, along + p);
        const bool both = p < block.angular * lanes;
        const auto add = [&](const T* unit, T* to) HWY_ATTR {
          hn::Store(hn::MulAdd(a, hn::Load(d, unit + p), both ? hn::Load(d, to + p) : hn::Zero(d)), d, to + p);
        };
        add(slots.x, x);
        add(slots.y, y);
        add(slots.z, z);
      }
      AddForces<kStrain>(d, slots, neighbors.j.data() + block.begin * lanes, block.slots, x, y, z, force4, &centre,
                         &strain);
    }
    hn::Store(centre.x, d, centre_buffer);
    hn::Store(centre.y, d, centre_buffer + lanes);
    hn::Store(centre.z, d, centre_buffer + 2 * lanes);
    for (size_t lane = 0; lane < lanes; ++lane) {
      T* const own = force4 + 4 * kForceSums * int64_t{atoms[lane]};
      for (int axis = 0; axis < 3; ++axis) own[axis] += centre_buffer[axis * lanes + lane];
    }
    if constexpr (kStrain) {
      const V parts[6] = {strain.xx, strain.xy, strain.xz, strain.yy, strain.yz, strain.zz};
      constexpr int kAt[6] = {0, 1, 2, 4, 5, 8};
      for (int k = 0; k < 6; ++k) strain_gradient[kAt[k]] += hn::GetLane(hn::SumOfLanes(d, parts[k]));
    }
  }
}

// How the slots of one block change: r, and the unit vector up to `angular` slots.
template <bool kStrain, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void SlotChanges(D d, const Slots<T>& slots, const int32_t* j, size_t count, size_t angular,
                              const T* vector4, const Vector3<hn::Vec<D>>& centre, const T* strain, T* x, T* y, T* z,
                              T* r) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V ux = hn::Load(d, slots.x + p), uy = hn::Load(d, slots.y + p), uz = hn::Load(d, slots.z + p);
    const V length = hn::Load(d, slots.r + p);
    Vector3<V> change = GatherFromAtoms(d, vector4, j + p);
    change = {hn::Sub(change.x, centre.x), hn::Sub(change.y, centre.y), hn::Sub(change.z, centre.z)};
    if constexpr (kStrain) {
      const V rx = hn::Mul(length, ux), ry = hn::Mul(length, uy), rz = hn::Mul(length, uz);
      const auto row = [&](const T* e, V v) HWY_ATTR {
        return hn::MulAdd(hn::Set(d, e[0]), rx, hn::MulAdd(hn::Set(d, e[1]), ry, hn::MulAdd(hn::Set(d, e[2]), rz, v)));
      };
      change = {row(strain, change.x), row(strain + 3, change.y), row(strain + 6, change.z)};
    }
    const V along = hn::MulAdd(change.x, ux, hn::MulAdd(change.y, uy, hn::Mul(change.z, uz)));
    hn::Store(along, d, r + p);
    if (p >= angular * lanes) continue;
    const V inverse = hn::Div(hn::Set(d, 1), length);
    hn::Store(hn::Mul(inverse, hn::NegMulAdd(along, ux, change.x)), d, x + p);
    hn::Store(hn::Mul(inverse, hn::NegMulAdd(along, uy, change.y)), d, y + p);
    hn::Store(hn::Mul(inverse, hn::NegMulAdd(along, uz, change.z)), d, z + p);
  }
}

template <bool kStrain, typename T>
HWY_NOINLINE void Jvp(const ChebyshevTables<T>& tables, const NeighborLanes<T>& neighbors, MomentState<T>* state,
                      const double* strain, T* tangents) {
  const LaneTag<T> d;
  using V = hn::Vec<LaneTag<T>>;
  const size_t lanes = hn::Lanes(d);
  const int num_species = static_cast<int>(tables.spins.size()), num_weights = num_species > 1 ? 2 : 1;
  const int radial = tables.rad_order + 1, angular = tables.ang_order + 1, harmonics = tables.num_harmonics;
  const T* const vector4 = state->vector4.data();
  T strain_t[9] = {};
  if constexpr (kStrain) std::copy_n(strain, 9, strain_t);

  Arena<T> arena(&state->group, lanes, GroupVectors(tables));
  T* const row = arena.Take(tables.num_features);
  T* const value = arena.Take(radial);
  T* const slope = arena.Take(radial);
  T* const moments = arena.Take(harmonics);
  T* const changes = arena.Take(2 * harmonics);
  T* const product = arena.Take(1);
  T* const self = arena.Take(2);
  T* const by_degree = arena.Take(angular);
  T* const centre_buffer = arena.Take(3);
  for (int64_t g = 0; g < neighbors.num_groups; ++g) {
    const int32_t* const atoms = &neighbors.atom[g * lanes];
    FillZero(d, tables.num_features, row);
    FillZero(d, num_weights * harmonics, changes);
    FillZero(d, 2, self);
    for (size_t lane = 0; lane < lanes; ++lane) {
      for (int axis = 0; axis < 3; ++axis)
        centre_buffer[axis * lanes + lane] = vector4[4 * int64_t{atoms[lane]} + axis];
    }
    const Vector3<V> centre = {hn::Load(d, centre_buffer), hn::Load(d, centre_buffer + lanes),
                               hn::Load(d, centre_buffer + 2 * lanes)};
    for (int s = 0; s < num_species; ++s) {
      const auto& block = neighbors.block[g * num_species + s];
      if (block.slots == 0) continue;
      const Slots<T> slots = SlotsOf(neighbors, block.begin * lanes);
      const size_t size = block.slots * lanes;
      state->slots.Resize(4 * size);
      T *const x = state->slots.data(), *const y = x + size, *const z = y + size, *const r = z + size;
      SlotChanges<kStrain>(d, slots, neighbors.j.data() + block.begin * lanes, block.slots, block.angular, vector4,
                           centre, strain_t, x, y, z, r);
      const T spin = tables.spins[s];
      if (block.radial > 0) {
        FillZero(d, radial, value);
        FillZero(d, radial, slope);
        AddRadialTangent(d, tables, slots.r, r, block.radial, value, slope);
        AddPolynomialSlopes(d, tables.rad_order, slope, value);
        AddScaled(d, T(1), value, radial, row);
        if (num_weights > 1) AddScaled(d, spin, value, radial, row + (radial + angular) * lanes);
      }
      if (block.angular == 0) continue;
      DispatchLaneTangents(d, tables, slots, {x, y, z, r}, block.angular, moments, product);
      AddScaled(d, T(1), moments, harmonics, changes);
      AddScaled(d, T(1), product, 1, self);
      if (num_weights == 1) continue;
      AddScaled(d, spin, moments, harmonics, changes + harmonics * lanes);
      AddScaled(d, spin * spin, product, 1, self + lanes);
    }
    for (int w = 0; w < num_weights; ++w) {
      ContractMoments(d, tables, neighbors.moments.data() + (g * num_weights + w) * harmonics * lanes,
                      changes + w * harmonics * lanes, T(2), self + w * lanes, T(1), by_degree,
                      row + (w * (radial + angular) + radial) * lanes);
    }
    StoreRows(d, row, atoms, state->num_atoms, tables.num_features, tangents);
  }
}

// The neighbours that a product with `sampled` runs over.
template <typename T>
HWY_INLINE const NeighborLanes<T>& Select(const ChebyshevTables<T>& tables, absl::Span<const uint8_t> sampled,
                                          MomentState<T>* state) {
  CHECK_EQ(state->lanes, static_cast<int>(hn::Lanes(LaneTag<T>())))
      << "Features ran on another instruction set than its products";
  return SelectSampled(tables, sampled, state);
}

template <typename T>
HWY_INLINE void VjpStructure(const ChebyshevTables<T>& tables, MomentState<T>* state, const T* slopes,
                             absl::Span<const uint8_t> sampled, T* force, double* strain_gradient) {
  const NeighborLanes<T>& neighbors = Select(tables, sampled, state);
  const int64_t num_atoms = state->num_atoms;
  state->vector4.Resize(4 * kForceSums * (num_atoms + 1));
  T* const force4 = state->vector4.data();
  std::fill_n(force4, 4 * kForceSums * (num_atoms + 1), T(0));
  if (strain_gradient == nullptr) {
    Vjp<false>(tables, neighbors, state, slopes, nullptr);
  } else {
    std::fill_n(strain_gradient, 9, 0.0);
    Vjp<true>(tables, neighbors, state, slopes, strain_gradient);
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
HWY_INLINE void JvpStructure(const ChebyshevTables<T>& tables, MomentState<T>* state, const T* direction,
                             absl::Span<const uint8_t> sampled, const double* strain, T* tangents) {
  const NeighborLanes<T>& neighbors = Select(tables, sampled, state);
  const int64_t num_atoms = state->num_atoms;
  // Centres that are left out do not change.
  if (&neighbors != &state->all) std::fill_n(tangents, num_atoms * tables.num_features, T(0));
  state->vector4.Resize(4 * (num_atoms + 1));
  T* const vector4 = state->vector4.data();
  for (int64_t i = 0; i < num_atoms; ++i) {
    for (int axis = 0; axis < 3; ++axis) vector4[4 * i + axis] = direction[3 * i + axis];
  }
  std::fill_n(vector4 + 4 * num_atoms, 4, T(0));
  if (strain == nullptr) {
    Jvp<false>(tables, neighbors, state, nullptr, tangents);
  } else {
    Jvp<true>(tables, neighbors, state, strain, tangents);
  }
}

void FeaturesFloat(const ChebyshevTables<float>& tables, const StructureGeometry& geometry, MomentState<float>* state,
                   float* features) {
  Features(tables, geometry, state, features);
}
void FeaturesDouble(const ChebyshevTables<double>& tables, const StructureGeometry& geometry,
                    MomentState<double>* state, double* features) {
  Features(tables, geometry, state, features);
}
void VjpFloat(const ChebyshevTables<float>& tables, MomentState<float>* state, const float* slopes,
              absl::Span<const uint8_t> sampled, float* force, double* strain_gradient) {
  VjpStructure(tables, state, slopes, sampled, force, strain_gradient);
}
void VjpDouble(const ChebyshevTables<double>& tables, MomentState<double>* state, const double* slopes,
               absl::Span<const uint8_t> sampled, double* force, double* strain_gradient) {
  VjpStructure(tables, state, slopes, sampled, force, strain_gradient);
}
void JvpFloat(const ChebyshevTables<float>& tables, MomentState<float>* state, const float* direction,
              absl::Span<const uint8_t> sampled, const double* strain, float* tangents) {
  JvpStructure(tables, state, direction, sampled, strain, tangents);
}
void JvpDouble(const ChebyshevTables<double>& tables, MomentState<double>* state, const double* direction,
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
void MomentFeatures(const ChebyshevTables<float>& tables, const StructureGeometry& geometry, MomentState<float>* state,
                    float* features) {
  HWY_DYNAMIC_DISPATCH(FeaturesFloat)(tables, geometry, state, features);
}

template <>
void MomentFeatures(const ChebyshevTables<double>& tables, const StructureGeometry& geometry,
                    MomentState<double>* state, double* features) {
  HWY_DYNAMIC_DISPATCH(FeaturesDouble)(tables, geometry, state, features);
}

template <>
void MomentVjp(const ChebyshevTables<float>& tables, MomentState<float>* state, const float* slopes,
               absl::Span<const uint8_t> sampled, float* force, double* strain_gradient) {
  HWY_DYNAMIC_DISPATCH(VjpFloat)(tables, state, slopes, sampled, force, strain_gradient);
}

template <>
void MomentVjp(const ChebyshevTables<double>& tables, MomentState<double>* state, const double* slopes,
               absl::Span<const uint8_t> sampled, double* force, double* strain_gradient) {
  HWY_DYNAMIC_DISPATCH(VjpDouble)(tables, state, slopes, sampled, force, strain_gradient);
}

template <>
void MomentJvp(const ChebyshevTables<float>& tables, MomentState<float>* state, const float* direction,
               absl::Span<const uint8_t> sampled, const double* strain, float* tangents) {
  HWY_DYNAMIC_DISPATCH(JvpFloat)(tables, state, direction, sampled, strain, tangents);
}

template <>
void MomentJvp(const ChebyshevTables<double>& tables, MomentState<double>* state, const double* direction,
               absl::Span<const uint8_t> sampled, const double* strain, double* tangents) {
  HWY_DYNAMIC_DISPATCH(JvpDouble)(tables, state, direction, sampled, strain, tangents);
}

}  // namespace rutile

#endif  // HWY_ONCE
