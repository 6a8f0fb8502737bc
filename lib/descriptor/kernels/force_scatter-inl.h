// Moves data between slots of neighbors and atoms: forces, directions, strain. Highway compiles this file once for each
// instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_FORCE_SCATTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_FORCE_SCATTER_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_FORCE_SCATTER_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_FORCE_SCATTER_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "lib/descriptor/kernels/angular_moments-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The number of independent partial sums per atom. The lanes of a slot often have the same neighbor, and additions to
// one sum would wait for each other.
constexpr int kForceSums = 4;

// Subtracts (x, y, z) from force4[atom of each lane, lane % kForceSums], one lane after the other. force4: [N + 1,
// kForceSums, 4].
template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE void SubtractAtAtoms(D d, V x, V y, V z, const int32_t* j, T* force4) {
#if HWY_TARGET == HWY_SCALAR
  T* const to = force4 + 4 * kForceSums * int64_t{j[0]};
  to[0] -= hn::GetLane(x);
  to[1] -= hn::GetLane(y);
  to[2] -= hn::GetLane(z);
#else
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN T rows[4 * HWY_LANES(T)];
  const V zero = hn::Zero(d);
  if constexpr (sizeof(T) == 4) {
    const hn::RepartitionToWide<decltype(d)> d64;
    const auto pairs = [&](V low, V high, T* to) HWY_ATTR {
      hn::Store(hn::BitCast(d, hn::InterleaveLower(d64, hn::BitCast(d64, low), hn::BitCast(d64, high))), d, to);
      hn::Store(hn::BitCast(d, hn::InterleaveUpper(d64, hn::BitCast(d64, low), hn::BitCast(d64, high))), d, to + lanes);
    };
    pairs(hn::InterleaveLower(d, x, y), hn::InterleaveLower(d, z, zero), rows);
    pairs(hn::InterleaveUpper(d, x, y), hn::InterleaveUpper(d, z, zero), rows + 2 * lanes);
    const hn::FixedTag<T, 4> row_tag;
    for (size_t lane = 0; lane < lanes; ++lane) {  // InterleaveLower works within blocks of four lanes
      T* const to = force4 + 4 * (kForceSums * int64_t{j[lane]} + lane % kForceSums);
      const auto row = hn::Load(row_tag, rows + lane % 4 * lanes + lane / 4 * 4);
      hn::Store(hn::Sub(hn::Load(row_tag, to), row), row_tag, to);
    }
  } else {
    hn::Store(hn::InterleaveLower(d, x, y), d, rows);
    hn::Store(hn::InterleaveUpper(d, x, y), d, rows + lanes);
    hn::Store(hn::InterleaveLower(d, z, zero), d, rows + 2 * lanes);
    hn::Store(hn::InterleaveUpper(d, z, zero), d, rows + 3 * lanes);
    const hn::FixedTag<T, 2> row_tag;
    for (size_t lane = 0; lane < lanes; ++lane) {
      T* const to = force4 + 4 * (kForceSums * int64_t{j[lane]} + lane % kForceSums);
      const T* const row = rows + lane % 2 * lanes + lane / 2 * 2;
      hn::Store(hn::Sub(hn::Load(row_tag, to), hn::Load(row_tag, row)), row_tag, to);
      hn::Store(hn::Sub(hn::Load(row_tag, to + 2), hn::Load(row_tag, row + 2 * lanes)), row_tag, to + 2);
    }
  }
#endif
}

template <class V>
struct Vector3 {
  V x, y, z;
};

// Returns (x, y, z) of the atom of each lane. vector4: [N + 1, 4].
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE Vector3<hn::Vec<D>> GatherFromAtoms(D d, const T* vector4, const int32_t* j) {
  const hn::RebindToSigned<D> di;
  hn::Vec<decltype(di)> index;
  if constexpr (sizeof(T) == 4) {
    index = hn::Load(di, j);
  } else {
    index = hn::PromoteTo(di, hn::Load(hn::Rebind<int32_t, decltype(di)>(), j));
  }
  index = hn::ShiftLeft<2>(index);
  return {hn::GatherIndex(d, vector4, index), hn::GatherIndex(d, vector4 + 1, index),
          hn::GatherIndex(d, vector4 + 2, index)};
}

// Sums over pairs of d (outer) r_ij. They are symmetric, as the features do not change under rotation.
template <class V>
struct StrainSums {
  V xx, xy, xz, yy, yz, zz;
};

// Adds `along` times u to (x, y, z)[slot] for the first `count` slots. Slots from `there` on are set instead of added
// to.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void AddAlong(D d, const Slots<T>& slots, const T* along, size_t count, size_t there, T* x, T* y, T* z) {
  const size_t lanes = hn::Lanes(d);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const auto a = hn::Load(d, along + p);
    const bool add = p < there * lanes;
    const auto before = [&](const T* v) HWY_ATTR { return add ? hn::Load(d, v + p) : hn::Zero(d); };
    hn::Store(hn::MulAdd(a, hn::Load(d, slots.x + p), before(x)), d, x + p);
    hn::Store(hn::MulAdd(a, hn::Load(d, slots.y + p), before(y)), d, y + p);
    hn::Store(hn::MulAdd(a, hn::Load(d, slots.z + p), before(z)), d, z + p);
  }
}

// Adds the forces of one block on neighbors, from the derivatives by r_ij in x, y, z, and adds these derivatives to
// `center`.
template <bool kStrain, class D, class V, typename T = hn::TFromD<D>>
HWY_NOINLINE void AddForces(D d, const Slots<T>& slots, const int32_t* j, size_t count, const T* x, const T* y,
                            const T* z, T* force4, Vector3<V>* center, StrainSums<V>* strain) {
  const size_t lanes = hn::Lanes(d);
  Vector3<V> sum = *center;
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
  *center = sum;
}

// Divides d (outer) r_ij of each lane between atoms i and j, half to each, adding to atom_strain: [N, 9]. Lanes with j
// = num_atoms have no neighbor.
template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE void AddAtomStrain(D d, const V (&slope)[3], const V (&r_ij)[3], const int32_t* i, const int32_t* j,
                              int64_t num_atoms, double* atom_strain) {
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN T slopes[3 * HWY_LANES(T)];
  HWY_ALIGN T vectors[3 * HWY_LANES(T)];
  for (int a = 0; a < 3; ++a) {
    hn::Store(slope[a], d, slopes + a * lanes);
    hn::Store(r_ij[a], d, vectors + a * lanes);
  }
  for (size_t lane = 0; lane < lanes; ++lane) {
    if (j[lane] == num_atoms) continue;
    double *const to_i = atom_strain + 9 * int64_t{i[lane]}, *const to_j = atom_strain + 9 * int64_t{j[lane]};
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) {
        const double half = 0.5 * slopes[a * lanes + lane] * vectors[b * lanes + lane];
        to_i[3 * a + b] += half;
        to_j[3 * a + b] += half;
      }
    }
  }
}

// Divides the strain sums of one block among the atoms. i: the center of each lane.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void AddAtomStrains(D d, const Slots<T>& slots, const int32_t* i, const int32_t* j, size_t count,
                                 int64_t num_atoms, const T* x, const T* y, const T* z, double* atom_strain) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V slope[3] = {hn::Load(d, x + p), hn::Load(d, y + p), hn::Load(d, z + p)};
    const V r = hn::Load(d, slots.r + p);
    const V r_ij[3] = {hn::Mul(r, hn::Load(d, slots.x + p)), hn::Mul(r, hn::Load(d, slots.y + p)),
                       hn::Mul(r, hn::Load(d, slots.z + p))};
    AddAtomStrain(d, slope, r_ij, i, j + p, num_atoms, atom_strain);
  }
}

// Computes how the slots of one block change: r, and the unit vector for the first `angular` slots.
template <bool kStrain, class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void SlotChanges(D d, const Slots<T>& slots, const int32_t* j, size_t count, size_t angular,
                              const T* vector4, const Vector3<hn::Vec<D>>& center, const T* strain, T* x, T* y, T* z,
                              T* r) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  for (size_t p = 0; p < count * lanes; p += lanes) {
    const V ux = hn::Load(d, slots.x + p), uy = hn::Load(d, slots.y + p), uz = hn::Load(d, slots.z + p);
    const V length = hn::Load(d, slots.r + p);
    Vector3<V> change = GatherFromAtoms(d, vector4, j + p);
    change = {hn::Sub(change.x, center.x), hn::Sub(change.y, center.y), hn::Sub(change.z, center.z)};
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

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
