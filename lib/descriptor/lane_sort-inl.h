// From a neighbour list to NeighborLanes. Included once for each Highway target.

#if defined(RUTILE_LIB_DESCRIPTOR_LANE_SORT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_LANE_SORT_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_LANE_SORT_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_LANE_SORT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/simd.h"
#include "lib/descriptor/chebyshev_tables.h"
#include "lib/descriptor/compress-inl.h"
#include "lib/descriptor/moment_state.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using WideTag = hn::ScalableTag<double>;  // of vectors r_ij, in fp64 also for float
using WideVec = hn::Vec<WideTag>;

// Neighbours of one species in one lane, within the smaller of the two cutoffs and beyond it.
struct NearAndFar {
  int32_t near, far;
};

struct PairVectors {
  WideVec x, y, z, j;
  hn::Mask<WideTag> valid;
};

// r_ij of the pairs p .. end - 1 of atom i, as many as fit.
template <typename T>
HWY_INLINE PairVectors LoadPairVectors(const StructureGeometry& geometry, const SortScratch<T>& scratch, int64_t i,
                                       int64_t p, int64_t end) {
  const WideTag d;
  const hn::Rebind<int32_t, WideTag> d32;
  const hn::RebindToSigned<WideTag> d64;
  const PairView& pairs = geometry.pairs;
  const int64_t num_atoms = geometry.species.size();
  const int count = static_cast<int>(std::min<int64_t>(end - p, hn::Lanes(d)));
  const auto valid = hn::FirstN(d, count);
  WideVec a, b, c;  // shifts
#if HWY_TARGET == HWY_AVX3
  const __m512i words = _mm512_maskz_loadu_epi16((1u << (3 * count)) - 1, pairs.shift + 3 * p);
  alignas(64) static constexpr int16_t kByAxis[32] = {0, 3, 6, 9,  12, 15, 18, 21, 1, 4, 7, 10, 13, 16, 19, 22,
                                                      2, 5, 8, 11, 14, 17, 20, 23, 0, 0, 0, 0,  0,  0,  0,  0};
  const __m512i by_axis = _mm512_permutexvar_epi16(_mm512_load_si512(kByAxis), words);
  const auto to_double = [](__m128i shift)
                             HWY_ATTR { return WideVec{_mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(shift))}; };
  a = to_double(_mm512_castsi512_si128(by_axis));
  b = to_double(_mm512_extracti32x4_epi32(by_axis, 1));
  c = to_double(_mm512_extracti32x4_epi32(by_axis, 2));
  const __mmask8 lanes = static_cast<__mmask8>((1u << count) - 1);
  const hn::Vec<decltype(d32)> j{
      _mm256_maskz_sub_epi32(lanes, _mm256_maskz_loadu_epi32(lanes, pairs.j + p), _mm256_set1_epi32(pairs.first_atom))};
#else
  HWY_ALIGN double shift[3][HWY_LANES(double)] = {};
  HWY_ALIGN int32_t index[HWY_LANES(double)] = {};
  for (int k = 0; k < count; ++k) {
    index[k] = pairs.j[p + k] - pairs.first_atom;
    for (int axis = 0; axis < 3; ++axis) shift[axis][k] = pairs.shift[3 * (p + k) + axis];
  }
  a = hn::Load(d, shift[0]);
  b = hn::Load(d, shift[1]);
  c = hn::Load(d, shift[2]);
  const auto j = hn::Load(d32, index);
#endif
  const auto at = hn::PromoteTo(d64, j);
  const double* const x = scratch.coordinate.data();
  const Matrix3& cell = geometry.cell;
  const auto vector = [&](int axis) HWY_ATTR {
    const double* const coordinate = x + axis * num_atoms;
    const WideVec image = hn::MulAdd(a, hn::Set(d, cell[axis]),
                                     hn::MulAdd(b, hn::Set(d, cell[3 + axis]), hn::Mul(c, hn::Set(d, cell[6 + axis]))));
    return hn::Add(hn::Sub(hn::GatherIndex(d, coordinate, at), hn::Set(d, coordinate[i])), image);
  };
  return {vector(0), vector(1), vector(2), hn::PromoteTo(d, j), valid};
}

template <typename T>
HWY_INLINE void StoreNarrow(WideVec v, T* to) {
  const WideTag d;
  if constexpr (sizeof(T) == sizeof(double)) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Rebind<T, WideTag> narrow;
    hn::StoreU(hn::DemoteTo(narrow, v), narrow, to);
  }
}

// The neighbours of atom i into the lists of `lane`.
template <typename T>
HWY_NOINLINE void SortAtom(const ChebyshevTables<T>& tables, const StructureGeometry& geometry, int64_t i, size_t lane,
                           SortScratch<T>* scratch, NearAndFar* found) {
  const WideTag d;
  const int num_species = static_cast<int>(tables.spins.size());
  const int64_t num_atoms = geometry.species.size();
  const int64_t begin = geometry.pairs.offset[i], end = geometry.pairs.offset[i + 1];
  const WideVec min_square = hn::Set(d, tables.min_square);
  const WideVec near_square = hn::Set(d, std::min(tables.rad_square, tables.ang_square));
  const WideVec far_square = hn::Set(d, std::max(tables.rad_square, tables.ang_square));
  const double* const species_of_atom = scratch->coordinate.data() + 3 * num_atoms;
  const size_t capacity = scratch->capacity, base = lane * num_species * 2 * capacity;
  std::fill_n(found, num_species, NearAndFar{0, 0});
  for (int64_t p = begin; p < end; p += hn::Lanes(d)) {
    const PairVectors v = LoadPairVectors(geometry, *scratch, i, p, end);
    const WideVec r2 = hn::MulAdd(v.x, v.x, hn::MulAdd(v.y, v.y, hn::Mul(v.z, v.z)));
    const auto counts = hn::And(hn::And(hn::Gt(r2, min_square), hn::Le(r2, far_square)), v.valid);
    const auto is_near = hn::Le(r2, near_square);
    WideVec species = hn::Zero(d);
    if (num_species > 1) {
      const hn::RebindToSigned<WideTag> d64;
      species = hn::GatherIndex(d, species_of_atom, hn::ConvertTo(d64, v.j));
    }
    const auto store = [&](hn::Mask<WideTag> mask, size_t at) HWY_ATTR {
      StoreNarrow(CompressDoubles(v.x, mask), scratch->x.data() + at);
      StoreNarrow(CompressDoubles(v.y, mask), scratch->y.data() + at);
      StoreNarrow(CompressDoubles(v.z, mask), scratch->z.data() + at);
      StoreNarrow(CompressDoubles(v.j, mask), scratch->j.data() + at);
      return static_cast<int32_t>(hn::CountTrue(d, mask));
    };
    for (int s = 0; s < num_species; ++s) {
      const auto mine = num_species > 1 ? hn::And(counts, hn::Eq(species, hn::Set(d, s))) : counts;
      if (hn::AllFalse(d, mine)) continue;
      const size_t at = base + 2 * s * capacity;
      found[s].near += store(hn::And(mine, is_near), at + found[s].near);
      found[s].far += store(hn::AndNot(is_near, mine), at + capacity + found[s].far);
    }
  }
}

// Slots of one species of a group from the lists of its lanes, padded.
template <typename T>
HWY_NOINLINE void PlaceBlock(const ChebyshevTables<T>& tables, int species, size_t lanes, int64_t num_atoms,
                             const SortScratch<T>& scratch, const NearAndFar* found, int64_t begin,
                             typename NeighborLanes<T>::Block* block, NeighborLanes<T>* to) {
  const int num_species = static_cast<int>(tables.spins.size());
  int near = 0, all = 0;
  for (size_t lane = 0; lane < lanes; ++lane) {
    const NearAndFar& n = found[lane * num_species + species];
    near = std::max(near, n.near);
    all = std::max(all, n.near + n.far);
  }
  const bool angular_is_near = tables.ang_square <= tables.rad_square;
  *block = {begin, all, angular_is_near ? all : near, angular_is_near ? near : all};
  const size_t size = (begin + all) * lanes;
  to->x.Resize(size);
  to->y.Resize(size);
  to->z.Resize(size);
  to->r.Resize(size);
  to->j.Resize(size);
  for (size_t lane = 0; lane < lanes; ++lane) {
    const NearAndFar& n = found[lane * num_species + species];
    const size_t from = (lane * num_species + species) * 2 * scratch.capacity;
    T* HWY_RESTRICT x = to->x.data() + begin * lanes + lane;
    T* HWY_RESTRICT y = to->y.data() + begin * lanes + lane;
    T* HWY_RESTRICT z = to->z.data() + begin * lanes + lane;
    int32_t* HWY_RESTRICT j = to->j.data() + begin * lanes + lane;
    const auto copy = [&](size_t at, size_t count) HWY_ATTR {
      for (size_t k = at; k < at + count; ++k) {
        *x = scratch.x.data()[k];
        *y = scratch.y.data()[k];
        *z = scratch.z.data()[k];
        *j = scratch.j.data()[k];
        x += lanes, y += lanes, z += lanes, j += lanes;
      }
    };
    copy(from, n.near);
    copy(from + scratch.capacity, n.far);
    for (int k = n.near + n.far; k < all; ++k) {
      *x = *y = 0;
      *z = tables.lane_padding;
      *j = static_cast<int32_t>(num_atoms);
      x += lanes, y += lanes, z += lanes, j += lanes;
    }
  }
}

// Unit vectors in place, and distances.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void Normalize(D d, size_t begin, size_t end, NeighborLanes<T>* to) {
  for (size_t p = begin; p < end; p += hn::Lanes(d)) {
    T *const x = to->x.data() + p, *const y = to->y.data() + p, *const z = to->z.data() + p;
    const auto vx = hn::Load(d, x), vy = hn::Load(d, y), vz = hn::Load(d, z);
    const auto r = hn::Sqrt(hn::MulAdd(vx, vx, hn::MulAdd(vy, vy, hn::Mul(vz, vz))));
    const auto inverse = hn::Div(hn::Set(d, 1), r);
    hn::Store(hn::Mul(vx, inverse), d, x);
    hn::Store(hn::Mul(vy, inverse), d, y);
    hn::Store(hn::Mul(vz, inverse), d, z);
    hn::Store(r, d, to->r.data() + p);
  }
}

// All neighbours of a structure. Atoms with the same species, then with similar numbers of neighbours, share a group.
template <class D, typename T = hn::TFromD<D>>
void SortNeighbors(D d, const ChebyshevTables<T>& tables, const StructureGeometry& geometry, SortScratch<T>* scratch,
                   NeighborLanes<T>* to) {
  const size_t lanes = hn::Lanes(d), num_species = tables.spins.size();
  const int64_t num_atoms = geometry.species.size();
  scratch->coordinate.resize(4 * num_atoms);
  scratch->order.resize(num_atoms);
  int64_t most = 0;
  for (int64_t i = 0; i < num_atoms; ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      scratch->coordinate[axis * num_atoms + i] = geometry.position[3 * i + axis];
    }
    scratch->coordinate[3 * num_atoms + i] = geometry.species[i];
    const int64_t count = geometry.pairs.offset[i + 1] - geometry.pairs.offset[i];
    most = std::max(most, count);
    scratch->order[i] = (uint64_t{geometry.species[i]} << 56) |
                        (static_cast<uint64_t>(std::min<int64_t>(count, (1 << 24) - 1)) << 32) |
                        static_cast<uint64_t>(i);
  }
  std::sort(scratch->order.begin(), scratch->order.end());
  constexpr size_t kSlack = 16;  // whole vectors are stored
  scratch->capacity = std::max<size_t>(scratch->capacity, (most + kSlack + 15) / 16 * 16);
  const size_t list_size = lanes * num_species * 2 * scratch->capacity;
  scratch->x.Resize(list_size);
  scratch->y.Resize(list_size);
  scratch->z.Resize(list_size);
  scratch->j.Resize(list_size);

  to->num_groups = (num_atoms + lanes - 1) / lanes;
  to->atom.assign(to->num_groups * lanes, static_cast<int32_t>(num_atoms));
  to->block.resize(to->num_groups * num_species);
  for (int64_t k = 0; k < num_atoms; ++k) to->atom[k] = static_cast<int32_t>(scratch->order[k] & 0xffffffffu);
  NearAndFar found[16 * 256];
  int64_t slots = 0;
  for (int64_t g = 0; g < to->num_groups; ++g) {
    const int64_t first = slots;
    for (size_t lane = 0; lane < lanes; ++lane) {
      NearAndFar* const mine = found + lane * num_species;
      const int64_t k = g * lanes + lane;
      if (k < num_atoms) {
        SortAtom(tables, geometry, to->atom[k], lane, scratch, mine);
      } else {
        std::fill_n(mine, num_species, NearAndFar{0, 0});
      }
    }
    for (size_t s = 0; s < num_species; ++s) {
      auto* const block = &to->block[g * num_species + s];
      PlaceBlock(tables, s, lanes, num_atoms, *scratch, found, slots, block, to);
      slots += block->slots;
    }
    Normalize(d, first * lanes, slots * lanes, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
