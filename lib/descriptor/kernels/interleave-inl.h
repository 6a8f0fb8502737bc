// Sorts a neighbor list into NeighborBlocks. Highway compiles this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_INTERLEAVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_INTERLEAVE_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_INTERLEAVE_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_INTERLEAVE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/round_up.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/compress-inl.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"
#include "lib/descriptor/kernels/transpose-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using WideTag = hn::ScalableTag<double>;  // for vectors r_ij, in fp64 even if T is float
using WideVec = hn::Vec<WideTag>;

// The number of neighbors of one species in one lane, within the smaller of the two cutoffs and beyond it.
struct NearAndFar {
  int32_t near, far;
};

// Loads x, y, z and species of the atoms j[k] - first. row4: [N, 4].
HWY_INLINE void GatherRows(const double* row4, const int32_t* j, int32_t first, WideVec* x, WideVec* y, WideVec* z,
                           WideVec* species) {
  const WideTag d;
  const auto row = [=](int k) HWY_ATTR { return row4 + 4 * (int64_t{j[k]} - first); };
#if HWY_TARGET == HWY_AVX3
  const auto pair = [=](int k) HWY_ATTR {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_load_pd(row(k))), _mm256_load_pd(row(k + 4)), 1);
  };
  const __m512d a = pair(0), b = pair(1), c = pair(2), e = pair(3);
  const __m512d xz01 = _mm512_unpacklo_pd(a, b), ys01 = _mm512_unpackhi_pd(a, b);
  const __m512d xz23 = _mm512_unpacklo_pd(c, e), ys23 = _mm512_unpackhi_pd(c, e);
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  *x = WideVec{_mm512_permutex2var_pd(xz01, low, xz23)};
  *y = WideVec{_mm512_permutex2var_pd(ys01, low, ys23)};
  *z = WideVec{_mm512_permutex2var_pd(xz01, high, xz23)};
  *species = WideVec{_mm512_permutex2var_pd(ys01, high, ys23)};
  (void)d;
#elif HWY_TARGET == HWY_AVX2
  WideVec v[4] = {hn::Load(d, row(0)), hn::Load(d, row(1)), hn::Load(d, row(2)), hn::Load(d, row(3))};
  Transpose(d, v);
  *x = v[0];
  *y = v[1];
  *z = v[2];
  *species = v[3];
#else
  constexpr size_t kLanes = HWY_LANES(double);
  HWY_ALIGN double columns[4][kLanes];
  for (size_t k = 0; k < kLanes; ++k) {
    for (int c = 0; c < 4; ++c) columns[c][k] = row(k)[c];
  }
  *x = hn::Load(d, columns[0]);
  *y = hn::Load(d, columns[1]);
  *z = hn::Load(d, columns[2]);
  *species = hn::Load(d, columns[3]);
#endif
}

// Computes shift . cell of `count` pairs from p on.
HWY_INLINE void LoadImages(const PairView& pairs, int64_t p, int count, const Matrix3& cell, WideVec* x, WideVec* y,
                           WideVec* z) {
  const WideTag d;
  WideVec a, b, c;
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
#else
  HWY_ALIGN double shift[3][HWY_LANES(double)] = {};
  for (int k = 0; k < count; ++k) {
    for (int axis = 0; axis < 3; ++axis) shift[axis][k] = pairs.shift[3 * (p + k) + axis];
  }
  a = hn::Load(d, shift[0]);
  b = hn::Load(d, shift[1]);
  c = hn::Load(d, shift[2]);
#endif
  const auto image = [&](int axis) HWY_ATTR {
    return hn::MulAdd(a, hn::Set(d, cell[axis]),
                      hn::MulAdd(b, hn::Set(d, cell[3 + axis]), hn::Mul(c, hn::Set(d, cell[6 + axis]))));
  };
  *x = image(0);
  *y = image(1);
  *z = image(2);
}

// Stores the chosen lanes of v, or of the integers j, at the front of `to`; up to a whole vector behind them is
// overwritten with unspecified values.
template <typename T>
HWY_INLINE void StoreChosen(WideVec v, hn::Mask<WideTag> mask, T* to) {
  const WideTag d;
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    _mm256_storeu_ps(to, _mm256_maskz_compress_ps(mask.raw, _mm512_cvtpd_ps(v.raw)));
    return;
  }
#endif
  const WideVec chosen = CompressDoubles(v, mask);
  if constexpr (sizeof(T) == sizeof(double)) {
    hn::StoreU(chosen, d, to);
  } else {
    const hn::Rebind<T, WideTag> narrow;
    hn::StoreU(hn::DemoteTo(narrow, chosen), narrow, to);
  }
}

HWY_INLINE void StoreChosenIndices(const int32_t* j, int32_t first, hn::Mask<WideTag> mask, int32_t* to) {
#if HWY_TARGET == HWY_AVX3
  const __m256i index =
      _mm256_sub_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(j)), _mm256_set1_epi32(first));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_maskz_compress_epi32(mask.raw, index));
#else
  const WideTag d;
  const hn::Rebind<int32_t, WideTag> d32;
  const auto index = hn::Sub(hn::LoadU(d32, j), hn::Set(d32, first));
  StoreChosen(hn::PromoteTo(d, index), mask, to);
#endif
}

// Lists of neighbors, one for each species, `capacity` apart.
template <typename T>
struct Lists {
  T *x, *y, *z;
  int32_t* j;

  Lists From(size_t at) const { return {x + at, y + at, z + at, j + at}; }
};

// Sorts the neighbors of atom i into the lists of a lane, near ones first. far: scratch for one more lane's lists.
template <typename T>
HWY_NOINLINE void SortAtom(const ChebyshevTables<T>& tables, const StructureGeometry& geometry, const double* row4,
                           int64_t i, size_t capacity, const Lists<T>& near, const Lists<T>& far, NearAndFar* found) {
  const WideTag d;
  const int num_species = static_cast<int>(tables.spins.size());
  const PairView& pairs = geometry.pairs;
  const int64_t begin = pairs.offset[i], end = pairs.offset[i + 1];
  const int lanes = static_cast<int>(hn::Lanes(d));
  const WideVec min_square = hn::Set(d, tables.min_square);
  const WideVec near_square = hn::Set(d, std::min(tables.rad_square, tables.ang_square));
  const WideVec far_square = hn::Set(d, std::max(tables.rad_square, tables.ang_square));
  const WideVec xi = hn::Set(d, row4[4 * i]), yi = hn::Set(d, row4[4 * i + 1]), zi = hn::Set(d, row4[4 * i + 2]);
  std::fill_n(found, num_species, NearAndFar{0, 0});
  HWY_ALIGN int32_t last[HWY_LANES(double)];
  for (int64_t p = begin; p < end; p += lanes) {
    const int count = static_cast<int>(std::min<int64_t>(end - p, lanes));
    const int32_t* j = pairs.j + p;
    if (count < lanes) {
      std::fill_n(last, lanes, pairs.first_atom);
      std::copy_n(j, count, last);
      j = last;
    }
    WideVec x, y, z, species, image_x, image_y, image_z;
    GatherRows(row4, j, pairs.first_atom, &x, &y, &z, &species);
    LoadImages(pairs, p, count, geometry.cell, &image_x, &image_y, &image_z);
    x = hn::Add(hn::Sub(x, xi), image_x);
    y = hn::Add(hn::Sub(y, yi), image_y);
    z = hn::Add(hn::Sub(z, zi), image_z);
    const WideVec r2 = hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z)));
    const auto counts = hn::And(hn::And(hn::Gt(r2, min_square), hn::Le(r2, far_square)), hn::FirstN(d, count));
    const auto is_near = hn::Le(r2, near_square);
    const auto store = [&](hn::Mask<WideTag> mask, const Lists<T>& to) HWY_ATTR {
      StoreChosen(x, mask, to.x);
      StoreChosen(y, mask, to.y);
      StoreChosen(z, mask, to.z);
      StoreChosenIndices(j, pairs.first_atom, mask, to.j);
      return static_cast<int32_t>(hn::CountTrue(d, mask));
    };
    for (int s = 0; s < num_species; ++s) {
      const auto mine = num_species > 1 ? hn::And(counts, hn::Eq(species, hn::Set(d, s))) : counts;
      if (hn::AllFalse(d, mine)) continue;
      found[s].near += store(hn::And(mine, is_near), near.From(s * capacity + found[s].near));
      found[s].far += store(hn::AndNot(is_near, mine), far.From(s * capacity + found[s].far));
    }
  }
  for (int s = 0; s < num_species; ++s) {
    const Lists<T> from = far.From(s * capacity), to = near.From(s * capacity + found[s].near);
    // Copies whole vectors, which is cheaper than calls of memcpy for a few elements.
    for (int k = 0; k < found[s].far; k += 4) {
      const hn::CappedTag<T, 4> four;
      const hn::CappedTag<int32_t, 4> four32;
      for (int part = 0; part < 4; part += static_cast<int>(hn::Lanes(four))) {
        hn::StoreU(hn::LoadU(four, from.x + k + part), four, to.x + k + part);
        hn::StoreU(hn::LoadU(four, from.y + k + part), four, to.y + k + part);
        hn::StoreU(hn::LoadU(four, from.z + k + part), four, to.z + k + part);
      }
      for (int part = 0; part < 4; part += static_cast<int>(hn::Lanes(four32))) {
        hn::StoreU(hn::LoadU(four32, from.j + k + part), four32, to.j + k + part);
      }
    }
  }
}

// Fills the slots of one species of a group from the lists of its lanes, with padding. lists: the species' list in the
// first lane.
template <class D, typename T = hn::TFromD<D>>
HWY_NOINLINE void PlaceBlock(D d, const ChebyshevTables<T>& tables, int64_t num_atoms, const Lists<T>& lists,
                             size_t lane_stride, const NearAndFar* found, int64_t begin, InterleavedBlock* block,
                             NeighborBlocks<T>* to) {
  constexpr int kLanes = ConstantLanes(D());
  const hn::Rebind<int32_t, D> d32;
  const int num_species = static_cast<int>(tables.spins.size());
  int near = 0, all = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const NearAndFar& n = found[lane * num_species];
    near = std::max(near, n.near);
    all = std::max(all, n.near + n.far);
  }
  const bool angular_is_near = tables.ang_square <= tables.rad_square;
  const int angular = angular_is_near ? near : all;
  *block = {begin, all, angular_is_near ? all : near, angular, angular};
  const size_t size = (begin + all + kLanes) * kLanes;  // TransposeIn stores whole squares
  to->x.Resize(size);
  to->y.Resize(size);
  to->z.Resize(size);
  to->r.Resize(size);
  to->j.Resize(size);
  const T *x[kLanes], *y[kLanes], *z[kLanes];
  const int32_t* j[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const Lists<T> mine = lists.From(lane * lane_stride);
    const NearAndFar& n = found[lane * num_species];
    for (int k = n.near + n.far; k < all; k += kLanes) {
      hn::StoreU(hn::Zero(d), d, mine.x + k);
      hn::StoreU(hn::Zero(d), d, mine.y + k);
      hn::StoreU(hn::Set(d, tables.lane_padding), d, mine.z + k);
      hn::StoreU(hn::Set(d32, static_cast<int32_t>(num_atoms)), d32, mine.j + k);
    }
    x[lane] = mine.x;
    y[lane] = mine.y;
    z[lane] = mine.z;
    j[lane] = mine.j;
  }
  for (int k = 0; k < all; k += kLanes) {
    const size_t at = (begin + k) * kLanes;
    TransposeIn(d, x, k, to->x.data() + at);
    TransposeIn(d, y, k, to->y.data() + at);
    TransposeIn(d, z, k, to->z.data() + at);
    TransposeIn(d32, j, k, to->j.data() + at);
  }
}

// Normalizes vectors in place and stores their lengths.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void Normalize(D d, size_t begin, size_t end, NeighborBlocks<T>* to) {
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

// Sorts all neighbors of the centers. Groups are formed of atoms ordered by species, then by number of neighbors.
template <class D, typename T = hn::TFromD<D>>
void SortNeighbors(D d, const ChebyshevTables<T>& tables, const StructureGeometry& geometry, SortScratch<T>* scratch,
                   NeighborBlocks<T>* to) {
  const size_t lanes = hn::Lanes(d), num_species = tables.spins.size();
  const int64_t num_atoms = geometry.species.size(), num_centers = geometry.pairs.num_atoms();
  scratch->row4.Resize(4 * num_atoms);
  scratch->order.resize(num_centers);
  double* const row4 = scratch->row4.data();
  int64_t most = 0;
  for (int64_t i = 0; i < num_atoms; ++i) {
    std::copy_n(&geometry.position[3 * i], 3, row4 + 4 * i);
    row4[4 * i + 3] = geometry.species[i];
  }
  for (int64_t i = 0; i < num_centers; ++i) {
    const int64_t count = geometry.pairs.offset[i + 1] - geometry.pairs.offset[i];
    most = std::max(most, count);
    scratch->order[i] = (uint64_t{geometry.species[i]} << 56) |
                        (static_cast<uint64_t>(std::min<int64_t>(count, (1 << 24) - 1)) << 32) |
                        static_cast<uint64_t>(i);
  }
  std::sort(scratch->order.begin(), scratch->order.end());
  constexpr size_t kSlack = 16;  // whole vectors are stored at the end of a list
  scratch->capacity = std::max<size_t>(scratch->capacity, RoundUp(most + kSlack, 16));
  const size_t capacity = scratch->capacity, lane_stride = num_species * capacity;
  const size_t list_size = (lanes + 1) * lane_stride;
  scratch->x.Resize(list_size);
  scratch->y.Resize(list_size);
  scratch->z.Resize(list_size);
  scratch->j.Resize(list_size);
  const Lists<T> lists = {scratch->x.data(), scratch->y.data(), scratch->z.data(), scratch->j.data()};
  const Lists<T> far = lists.From(lanes * lane_stride);

  to->num_groups = (num_centers + lanes - 1) / lanes;
  to->atom.assign(to->num_groups * lanes, static_cast<int32_t>(num_atoms));
  to->block.resize(to->num_groups * num_species);
  for (int64_t k = 0; k < num_centers; ++k) to->atom[k] = static_cast<int32_t>(scratch->order[k] & 0xffffffffu);
  NearAndFar found[16 * 256];
  int64_t slots = 0;
  for (int64_t g = 0; g < to->num_groups; ++g) {
    const int64_t first = slots;
    for (size_t lane = 0; lane < lanes; ++lane) {
      NearAndFar* const mine = found + lane * num_species;
      const int64_t k = g * lanes + lane;
      if (k < num_centers) {
        SortAtom(tables, geometry, row4, to->atom[k], capacity, lists.From(lane * lane_stride), far, mine);
      } else {
        std::fill_n(mine, num_species, NearAndFar{0, 0});
      }
    }
    for (size_t s = 0; s < num_species; ++s) {
      auto* const block = &to->block[g * num_species + s];
      PlaceBlock(d, tables, num_atoms, lists.From(s * capacity), lane_stride, found + s, slots, block, to);
      slots += block->slots;
    }
    Normalize(d, first * lanes, slots * lanes, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
