#include "lib/descriptor/kernels/moments/moment_kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/base/logging.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/descriptor/kernels/moments/moment_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/base/round_up.h"
#include "lib/descriptor/kernels/force_scatter-inl.h"
#include "lib/descriptor/kernels/moments/moment_functions-inl.h"
#include "lib/descriptor/kernels/moments/moment_sums-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

// Vectors of neighbors are at most 256 bits wide: most species have few neighbors, and padding costs more than width
// gains.
template <typename T>
using NeighborTag = hn::CappedTag<T, 32 / sizeof(T)>;

// The vectors of harmonics up to degree L, in whole blocks for StoreHarmonics.
template <int L>
constexpr int PaddedHarmonics() {
  return ((L + 1) * (L + 1) + 7) / 8 * 8;
}

// --- Neighbors ---

// Lists the neighbors of atom i within the cutoff, species by species.
template <typename T>
HWY_INLINE void FindNeighbors(const MomentTables<T>& tables, const StructureGeometry& geometry, int64_t i,
                              MomentNeighbors<T>* state) {
  const PairView& pairs = geometry.pairs;
  const int64_t begin = pairs.offset[i], end = pairs.offset[i + 1], most = end - begin;
  T* const found_x = state->found_x.Take(most * tables.num_species);
  T* const found_y = state->found_y.Take(most * tables.num_species);
  T* const found_z = state->found_z.Take(most * tables.num_species);
  int32_t* const found_j = state->found_j.Take(most * tables.num_species);
  int32_t* const found = state->found.data();
  std::fill_n(found, tables.num_species, 0);
  const double* const from = geometry.position.data() + 3 * i;
  const auto& cell = geometry.cell;
  for (int64_t p = begin; p < end; ++p) {
    const int32_t j = pairs.j[p] - pairs.first_atom;
    const double* const to = geometry.position.data() + 3 * int64_t{j};
    const int16_t* const shift = pairs.shift + 3 * p;
    const double a = shift[0], b = shift[1], c = shift[2];
    const double x = to[0] - from[0] + (a * cell[0] + b * cell[3] + c * cell[6]);
    const double y = to[1] - from[1] + (a * cell[1] + b * cell[4] + c * cell[7]);
    const double z = to[2] - from[2] + (a * cell[2] + b * cell[5] + c * cell[8]);
    const double square = x * x + y * y + z * z;
    if (square > tables.cutoff_square || square <= tables.min_square) continue;
    const int s = geometry.species[j];
    const int64_t at = most * s + found[s]++;
    found_x[at] = static_cast<T>(x);
    found_y[at] = static_cast<T>(y);
    found_z[at] = static_cast<T>(z);
    found_j[at] = j;
  }
}

// Fills state->all.
template <typename T>
HWY_INLINE void SortNeighbors(const MomentTables<T>& tables, const StructureGeometry& geometry,
                              MomentNeighbors<T>* state) {
  const NeighborTag<T> d;
  const int64_t lanes = hn::Lanes(d), num_atoms = geometry.species.size(), num_centers = geometry.pairs.num_atoms();
  state->lanes = static_cast<int>(lanes);
  state->num_atoms = num_atoms;
  state->num_centers = num_centers;
  state->block.resize(num_centers * tables.num_species);
  state->found.resize(tables.num_species);
  int64_t elements = 0;
  for (int64_t i = 0; i < num_centers; ++i) {
    FindNeighbors(tables, geometry, i, state);
    const int64_t most = geometry.pairs.offset[i + 1] - geometry.pairs.offset[i];
    for (int s = 0; s < tables.num_species; ++s) {
      const int64_t count = state->found[s], padded = RoundUp(count, lanes), begin = elements;
      state->block[i * tables.num_species + s] = {begin, static_cast<int32_t>(count)};
      elements += padded;
      state->x.Resize(elements);
      state->y.Resize(elements);
      state->z.Resize(elements);
      state->r.Resize(elements);
      state->j.Resize(elements);
      T *const x = state->x.data() + begin, *const y = state->y.data() + begin, *const z = state->z.data() + begin;
      int32_t* const j = state->j.data() + begin;
      std::copy_n(state->found_x.data() + most * s, count, x);
      std::copy_n(state->found_y.data() + most * s, count, y);
      std::copy_n(state->found_z.data() + most * s, count, z);
      std::copy_n(state->found_j.data() + most * s, count, j);
      std::fill(x + count, x + padded, T(0));
      std::fill(y + count, y + padded, T(0));
      std::fill(z + count, z + padded, 2 * tables.cutoff);
      std::fill(j + count, j + padded, static_cast<int32_t>(num_atoms));
      for (int64_t p = 0; p < padded; p += lanes) {
        const auto vx = hn::Load(d, x + p), vy = hn::Load(d, y + p), vz = hn::Load(d, z + p);
        const auto r = hn::Sqrt(hn::MulAdd(vx, vx, hn::MulAdd(vy, vy, hn::Mul(vz, vz))));
        const auto inverse = hn::Div(hn::Set(d, T(1)), r);
        hn::Store(hn::Mul(vx, inverse), d, x + p);
        hn::Store(hn::Mul(vy, inverse), d, y + p);
        hn::Store(hn::Mul(vz, inverse), d, z + p);
        hn::Store(r, d, state->r.data() + begin + p);
      }
    }
  }
  state->all = {elements,        state->block.data(), state->x.data(), state->y.data(),
                state->z.data(), state->r.data(),     state->j.data()};
}

// --- Features ---

template <int L, typename T>
HWY_NOINLINE void Features(const MomentTables<T>& tables, MomentNeighbors<T>* state, T* features) {
  using V = hn::Vec<NeighborTag<T>>;
  const NeighborTag<T> d;
  const size_t lanes = hn::Lanes(d), row = tables.row;
  const int64_t species_features = int64_t{tables.num_radial} * tables.num_harmonics;
  const MomentView<T>& all = state->all;
  V y[PaddedHarmonics<L>()];
  for (V& v : y) v = hn::Zero(d);
  for (int64_t k = 0; k < state->num_centers * tables.num_species; ++k) {
    const MomentBlock block = all.block[k];
    const size_t count = block.count, stride = RoundUp(count, lanes);
    T* const phi = state->radial.Take(tables.num_radial * stride);
    T* const rows = state->rows.Take(stride * row);
    for (size_t p = 0; p < count; p += lanes) {
      const size_t at = block.begin + p;
      MomentRadial<false>(d, tables, hn::Load(d, all.r + at), stride, phi + p, static_cast<T*>(nullptr));
      HarmonicFactors<L, V> factors;
      ComputeFactors<L>(d, tables, hn::Load(d, all.x + at), hn::Load(d, all.y + at), hn::Load(d, all.z + at), &factors);
      HarmonicValues<L>(factors, y);
      StoreHarmonics(d, y, row, rows + p * row);
    }
    OuterSums<false, T>(tables, {phi, rows}, {phi, rows}, stride, count, features + k * species_features);
  }
}

// --- The vector-Jacobian product ---

template <int L, typename T>
HWY_NOINLINE void Vjp(const MomentTables<T>& tables, MomentNeighbors<T>* state, const T* slopes,
                      double* strain_gradient, double* atom_strain) {
  using V = hn::Vec<NeighborTag<T>>;
  const NeighborTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const int64_t species_features = int64_t{tables.num_radial} * tables.num_harmonics;
  const MomentView<T>& all = state->all;
  T* const force4 = state->vector4.data();
  T* const phi = state->radial.Take(2 * tables.num_radial * lanes);
  T* const phi_slope = phi + tables.num_radial * lanes;
  for (int64_t i = 0; i < state->num_centers; ++i) {
    V sum_x = hn::Zero(d), sum_y = hn::Zero(d), sum_z = hn::Zero(d);
    HWY_ALIGN T strain[9 * HWY_LANES(T)] = {};
    HWY_ALIGN int32_t center[HWY_LANES(T)];
    std::fill_n(center, lanes, static_cast<int32_t>(i));
    for (int s = 0; s < tables.num_species; ++s) {
      const int64_t k = i * tables.num_species + s;
      const MomentBlock block = all.block[k];
      for (int64_t at = block.begin; at < block.begin + block.count; at += lanes) {
        const V x = hn::Load(d, all.x + at), y = hn::Load(d, all.y + at), z = hn::Load(d, all.z + at);
        const V r = hn::Load(d, all.r + at);
        MomentRadial<true>(d, tables, r, lanes, phi, phi_slope);
        const MomentSlope<V> f = SumSlopes<L>(d, tables, slopes + k * species_features, phi, phi_slope, x, y, z, r);
        sum_x = hn::Add(sum_x, f.x);
        sum_y = hn::Add(sum_y, f.y);
        sum_z = hn::Add(sum_z, f.z);
        SubtractAtAtoms(d, f.x, f.y, f.z, all.j + at, force4);
        if (strain_gradient == nullptr) continue;
        const V r_x = hn::Mul(r, x), r_y = hn::Mul(r, y), r_z = hn::Mul(r, z);
        const V parts[9] = {hn::Mul(f.x, r_x), hn::Mul(f.x, r_y), hn::Mul(f.x, r_z),
                            hn::Mul(f.y, r_x), hn::Mul(f.y, r_y), hn::Mul(f.y, r_z),
                            hn::Mul(f.z, r_x), hn::Mul(f.z, r_y), hn::Mul(f.z, r_z)};
        for (int n = 0; n < 9; ++n) {
          hn::Store(hn::Add(hn::Load(d, strain + n * lanes), parts[n]), d, strain + n * lanes);
        }
        if (atom_strain == nullptr) continue;
        AddAtomStrain(d, {f.x, f.y, f.z}, {r_x, r_y, r_z}, center, all.j + at, state->num_atoms, atom_strain);
      }
    }
    T* const own = force4 + 4 * kForceSums * i;
    own[0] += hn::GetLane(hn::SumOfLanes(d, sum_x));
    own[1] += hn::GetLane(hn::SumOfLanes(d, sum_y));
    own[2] += hn::GetLane(hn::SumOfLanes(d, sum_z));
    // The features turn with the structure, so that all nine components are needed.
    for (int n = 0; strain_gradient != nullptr && n < 9; ++n) {
      strain_gradient[n] += hn::GetLane(hn::SumOfLanes(d, hn::Load(d, strain + n * lanes)));
    }
  }
}

// --- The Jacobian-vector product ---

// Returns how r_ij changes: the direction of j less that of i, and the strain of r_ij.
template <class D, class V = hn::Vec<D>, typename T = hn::TFromD<D>>
HWY_INLINE Vector3<V> VectorChange(D d, const MomentView<T>& all, size_t at, const T* vector4, const T* center,
                                   const double* strain) {
  Vector3<V> change = GatherFromAtoms(d, vector4, all.j + at);
  change = {hn::Sub(change.x, hn::Set(d, center[0])), hn::Sub(change.y, hn::Set(d, center[1])),
            hn::Sub(change.z, hn::Set(d, center[2]))};
  if (strain == nullptr) return change;
  const V r = hn::Load(d, all.r + at);
  const V v[3] = {hn::Mul(r, hn::Load(d, all.x + at)), hn::Mul(r, hn::Load(d, all.y + at)),
                  hn::Mul(r, hn::Load(d, all.z + at))};
  for (int b = 0; b < 3; ++b) {
    change.x = hn::MulAdd(hn::Set(d, static_cast<T>(strain[b])), v[b], change.x);
    change.y = hn::MulAdd(hn::Set(d, static_cast<T>(strain[3 + b])), v[b], change.y);
    change.z = hn::MulAdd(hn::Set(d, static_cast<T>(strain[6 + b])), v[b], change.z);
  }
  return change;
}

template <int L, typename T>
HWY_NOINLINE void Jvp(const MomentTables<T>& tables, MomentNeighbors<T>* state, const double* strain, T* tangents) {
  using V = hn::Vec<NeighborTag<T>>;
  const NeighborTag<T> d;
  const size_t lanes = hn::Lanes(d), row = tables.row;
  const int64_t species_features = int64_t{tables.num_radial} * tables.num_harmonics;
  const MomentView<T>& all = state->all;
  const T* const vector4 = state->vector4.data();
  V values[PaddedHarmonics<L>()], changes[PaddedHarmonics<L>()];
  for (V& v : values) v = hn::Zero(d);
  for (V& v : changes) v = hn::Zero(d);
  for (int64_t k = 0; k < state->num_centers * tables.num_species; ++k) {
    const MomentBlock block = all.block[k];
    const size_t count = block.count, stride = RoundUp(count, lanes);
    T* const phi = state->radial.Take(2 * tables.num_radial * stride);
    T* const phi_change = phi + tables.num_radial * stride;
    T* const rows = state->rows.Take(2 * stride * row);
    T* const row_changes = rows + stride * row;
    for (size_t p = 0; p < count; p += lanes) {
      const size_t at = block.begin + p;
      const V x = hn::Load(d, all.x + at), y = hn::Load(d, all.y + at), z = hn::Load(d, all.z + at);
      const V r = hn::Load(d, all.r + at);
      MomentRadial<true>(d, tables, r, stride, phi + p, phi_change + p);
      const Vector3<V> change = VectorChange(d, all, at, vector4, vector4 + 4 * (k / tables.num_species), strain);
      const V along = hn::MulAdd(change.x, x, hn::MulAdd(change.y, y, hn::Mul(change.z, z)));
      for (int n = 0; n < tables.num_radial; ++n) {
        T* const to = phi_change + n * stride + p;
        hn::Store(hn::Mul(hn::Load(d, to), along), d, to);
      }
      const V inverse = hn::Div(hn::Set(d, T(1)), r);
      HarmonicFactors<L, V> factors;
      ComputeFactors<L>(d, tables, x, y, z, &factors);
      HarmonicValues<L>(factors, values);
      HarmonicChanges<L>(d, tables, factors, hn::Mul(inverse, hn::NegMulAdd(along, x, change.x)),
                         hn::Mul(inverse, hn::NegMulAdd(along, y, change.y)),
                         hn::Mul(inverse, hn::NegMulAdd(along, z, change.z)), changes);
      StoreHarmonics(d, values, row, rows + p * row);
      StoreHarmonics(d, changes, row, row_changes + p * row);
    }
    OuterSums<true, T>(tables, {phi_change, rows}, {phi, row_changes}, stride, count, tangents + k * species_features);
  }
}

// --- Dispatch ---

template <typename T>
HWY_INLINE void CheckLanes(const MomentNeighbors<T>& state) {
  CHECK_EQ(state.lanes, static_cast<int>(hn::Lanes(NeighborTag<T>())))
      << "Features ran on another instruction set than its products";
}

template <typename T>
HWY_INLINE void FeaturesOf(const MomentTables<T>& tables, const StructureGeometry& geometry, MomentNeighbors<T>* state,
                           T* features) {
  SortNeighbors(tables, geometry, state);
  switch (tables.max_l) {
    case 0:
      return Features<0>(tables, state, features);
    case 1:
      return Features<1>(tables, state, features);
    case 2:
      return Features<2>(tables, state, features);
    case 3:
      return Features<3>(tables, state, features);
    default:
      return Features<4>(tables, state, features);
  }
}

template <typename T>
HWY_INLINE void VjpByDegree(const MomentTables<T>& tables, MomentNeighbors<T>* state, const T* slopes,
                            double* strain_gradient, double* atom_strain) {
  switch (tables.max_l) {
    case 0:
      return Vjp<0>(tables, state, slopes, strain_gradient, atom_strain);
    case 1:
      return Vjp<1>(tables, state, slopes, strain_gradient, atom_strain);
    case 2:
      return Vjp<2>(tables, state, slopes, strain_gradient, atom_strain);
    case 3:
      return Vjp<3>(tables, state, slopes, strain_gradient, atom_strain);
    default:
      return Vjp<4>(tables, state, slopes, strain_gradient, atom_strain);
  }
}

template <typename T>
HWY_INLINE void VjpOf(const MomentTables<T>& tables, MomentNeighbors<T>* state, const T* slopes, T* force,
                      double* strain_gradient, double* atom_strain) {
  CheckLanes(*state);
  const int64_t num_atoms = state->num_atoms;
  T* const force4 = state->vector4.Take(4 * kForceSums * (num_atoms + 1));
  std::fill_n(force4, 4 * kForceSums * (num_atoms + 1), T(0));
  if (strain_gradient != nullptr) std::fill_n(strain_gradient, 9, 0.0);
  if (atom_strain != nullptr) std::fill_n(atom_strain, 9 * num_atoms, 0.0);
  VjpByDegree(tables, state, slopes, strain_gradient, atom_strain);
  for (int64_t i = 0; i < num_atoms; ++i) {
    const T* const sums = force4 + 4 * kForceSums * i;
    for (int axis = 0; axis < 3; ++axis) {
      force[3 * i + axis] = (sums[axis] + sums[4 + axis]) + (sums[8 + axis] + sums[12 + axis]);
    }
  }
}

template <typename T>
HWY_INLINE void JvpOf(const MomentTables<T>& tables, MomentNeighbors<T>* state, const T* direction,
                      const double* strain, T* tangents) {
  CheckLanes(*state);
  const int64_t num_atoms = state->num_atoms;
  T* const vector4 = state->vector4.Take(4 * (num_atoms + 1));
  for (int64_t i = 0; i < num_atoms; ++i) {
    for (int axis = 0; axis < 3; ++axis) vector4[4 * i + axis] = direction[3 * i + axis];
  }
  std::fill_n(vector4 + 4 * num_atoms, 4, T(0));
  switch (tables.max_l) {
    case 0:
      return Jvp<0>(tables, state, strain, tangents);
    case 1:
      return Jvp<1>(tables, state, strain, tangents);
    case 2:
      return Jvp<2>(tables, state, strain, tangents);
    case 3:
      return Jvp<3>(tables, state, strain, tangents);
    default:
      return Jvp<4>(tables, state, strain, tangents);
  }
}

void FeaturesFloat(const MomentTables<float>& tables, const StructureGeometry& geometry, MomentNeighbors<float>* state,
                   float* features) {
  FeaturesOf(tables, geometry, state, features);
}
void FeaturesDouble(const MomentTables<double>& tables, const StructureGeometry& geometry,
                    MomentNeighbors<double>* state, double* features) {
  FeaturesOf(tables, geometry, state, features);
}
void VjpFloat(const MomentTables<float>& tables, MomentNeighbors<float>* state, const float* slopes, float* force,
              double* strain_gradient, double* atom_strain) {
  VjpOf(tables, state, slopes, force, strain_gradient, atom_strain);
}
void VjpDouble(const MomentTables<double>& tables, MomentNeighbors<double>* state, const double* slopes, double* force,
               double* strain_gradient, double* atom_strain) {
  VjpOf(tables, state, slopes, force, strain_gradient, atom_strain);
}
void JvpFloat(const MomentTables<float>& tables, MomentNeighbors<float>* state, const float* direction,
              const double* strain, float* tangents) {
  JvpOf(tables, state, direction, strain, tangents);
}
void JvpDouble(const MomentTables<double>& tables, MomentNeighbors<double>* state, const double* direction,
               const double* strain, double* tangents) {
  JvpOf(tables, state, direction, strain, tangents);
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
void MomentFeatures(const MomentTables<float>& tables, const StructureGeometry& geometry, MomentNeighbors<float>* state,
                    float* features) {
  HWY_DYNAMIC_DISPATCH(FeaturesFloat)(tables, geometry, state, features);
}

template <>
void MomentFeatures(const MomentTables<double>& tables, const StructureGeometry& geometry,
                    MomentNeighbors<double>* state, double* features) {
  HWY_DYNAMIC_DISPATCH(FeaturesDouble)(tables, geometry, state, features);
}

template <>
void MomentVjp(const MomentTables<float>& tables, MomentNeighbors<float>* state, const float* slopes, float* force,
               double* strain_gradient, double* atom_strain) {
  HWY_DYNAMIC_DISPATCH(VjpFloat)(tables, state, slopes, force, strain_gradient, atom_strain);
}

template <>
void MomentVjp(const MomentTables<double>& tables, MomentNeighbors<double>* state, const double* slopes, double* force,
               double* strain_gradient, double* atom_strain) {
  HWY_DYNAMIC_DISPATCH(VjpDouble)(tables, state, slopes, force, strain_gradient, atom_strain);
}

template <>
void MomentJvp(const MomentTables<float>& tables, MomentNeighbors<float>* state, const float* direction,
               const double* strain, float* tangents) {
  HWY_DYNAMIC_DISPATCH(JvpFloat)(tables, state, direction, strain, tangents);
}

template <>
void MomentJvp(const MomentTables<double>& tables, MomentNeighbors<double>* state, const double* direction,
               const double* strain, double* tangents) {
  HWY_DYNAMIC_DISPATCH(JvpDouble)(tables, state, direction, strain, tangents);
}

}  // namespace rutile

#endif  // HWY_ONCE
