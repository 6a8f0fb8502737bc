#include "lib/descriptor/kernels/chebyshev_kernel.h"

#include <algorithm>
#include <cstring>

#include "lib/base/logging.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/descriptor/kernels/chebyshev_kernel.cc"
#include <hwy/foreach_target.h>

#include "lib/base/round_up.h"
#include "lib/descriptor/kernels/angular_sums-inl.h"
#include "lib/descriptor/kernels/compress-inl.h"
#include "lib/descriptor/kernels/radial_sums-inl.h"
#include "lib/descriptor/kernels/triplets/triplet_sums-inl.h"
#include "lib/descriptor/kernels/vector_sums-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

using Wide = hn::ScalableTag<double>;

// The number of neighbors of one species.
struct Found {
  size_t radial, angular;
};

// Stores the lanes of v in the mask, as T, at the front of `to`; up to a whole vector behind them is overwritten with
// unspecified values.
template <typename T, class V, class M>
HWY_INLINE void StoreChosen(V v, M mask, T* to) {
  const V chosen = CompressDoubles(v, mask);
  if constexpr (sizeof(T) == sizeof(double)) {
    hn::StoreU(chosen, Wide(), to);
  } else {
    const hn::Rebind<float, Wide> narrow;
    hn::StoreU(hn::DemoteTo(narrow, chosen), narrow, to);
  }
}

// The vectors of up to eight neighbors from pair p of the list; lanes beyond the list's end are 0.
struct PairBlock {
  hn::Vec<Wide> x, y, z;
};

HWY_INLINE PairBlock LoadPairs(const NeighborList& neighbors, int64_t p) {
  const Wide d;
  if (HWY_LIKELY(p + static_cast<int64_t>(hn::Lanes(d)) <= neighbors.num_pairs())) {
    return {hn::LoadU(d, &neighbors.dx[p]), hn::LoadU(d, &neighbors.dy[p]), hn::LoadU(d, &neighbors.dz[p])};
  }
  HWY_ALIGN double last[3][HWY_LANES(double)] = {};
  std::copy(neighbors.dx.begin() + p, neighbors.dx.end(), last[0]);
  std::copy(neighbors.dy.begin() + p, neighbors.dy.end(), last[1]);
  std::copy(neighbors.dz.begin() + p, neighbors.dz.end(), last[2]);
  return {hn::Load(d, last[0]), hn::Load(d, last[1]), hn::Load(d, last[2])};
}

// Sorts the neighbors of one atom by species: r^2 and r_ij of those within the cutoffs, then padding. kSpecies is the
// number of species if that has a loop of its own, or 0 for any number.
template <int kSpecies, typename T>
HWY_NOINLINE void Sort(const ChebyshevTables<T>& tables, const double* species_of_atom, const NeighborList& neighbors,
                       int64_t atom, ChebyshevScratch<T>* scratch, Found* found) {
  const Wide d;
  using V = hn::Vec<Wide>;
  const int num_species = kSpecies > 0 ? kSpecies : static_cast<int>(tables.spins.size());
  const int64_t begin = neighbors.offset[atom], count = neighbors.offset[atom + 1] - begin;
  double* const kind = scratch->species_of_neighbor();
  if constexpr (kSpecies != 1) {
    const int32_t* const j = neighbors.j.data() + begin;
    for (int64_t p = 0; p < count; ++p) kind[p] = species_of_atom[j[p]];
    hn::StoreU(hn::Set(d, -1), d, kind + count);  // matches no species: lanes beyond the end
  }
  const V min_square = hn::Set(d, tables.min_square);
  const V rad_square = hn::Set(d, tables.rad_square), ang_square = hn::Set(d, tables.ang_square);
  const size_t stride = scratch->stride();
  T* const arrays = scratch->rad_square(0);
  Found own[kSpecies > 0 ? kSpecies : 1] = {};
  Found* const sizes = kSpecies > 0 ? own : found;
  if constexpr (kSpecies == 0) std::fill(found, found + num_species, Found{0, 0});
  for (int64_t p = 0; p < count; p += hn::Lanes(d)) {
    const auto [x, y, z] = LoadPairs(neighbors, begin + p);
    const V r2 = hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z)));
    auto counts = hn::Gt(r2, min_square);
    const auto in_radial = hn::Le(r2, rad_square), in_angular = hn::Le(r2, ang_square);
    V species = hn::Zero(d);
    if constexpr (kSpecies == 1) {
      counts = hn::And(counts, hn::FirstN(d, count - p));
    } else {
      species = hn::LoadU(d, kind + p);
    }
    T* to = arrays;
    for (int s = 0; s < num_species; ++s, to += 4 * stride) {
      auto mine = counts;
      if constexpr (kSpecies != 1) mine = hn::And(counts, hn::Eq(species, hn::Set(d, s)));
      if (hn::AllFalse(d, mine)) continue;
      const auto radial = hn::And(mine, in_radial), angular = hn::And(mine, in_angular);
      StoreChosen(r2, radial, to + sizes[s].radial);
      sizes[s].radial += hn::CountTrue(d, radial);
      T* const vectors = to + stride + sizes[s].angular;
      StoreChosen(x, angular, vectors);
      StoreChosen(y, angular, vectors + stride);
      StoreChosen(z, angular, vectors + 2 * stride);
      sizes[s].angular += hn::CountTrue(d, angular);
    }
  }
  const hn::ScalableTag<T> dt;
  T* to = arrays;
  for (int s = 0; s < num_species; ++s, to += 4 * stride) {
    found[s] = sizes[s];
    hn::StoreU(hn::Set(dt, tables.rad_padding), dt, to + sizes[s].radial);
    T* const vectors = to + stride + sizes[s].angular;
    hn::StoreU(hn::Zero(dt), dt, vectors);
    hn::StoreU(hn::Zero(dt), dt, vectors + stride);
    hn::StoreU(hn::Set(dt, tables.ang_padding), dt, vectors + 2 * stride);
  }
}

// Computes row[n] = sum_b angular[b, n] sums[b]^2 - self / 2.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void AngularFeatures(D d, const ChebyshevTables<T>& tables, T* sums, T self, T* row) {
  using V = hn::Vec<D>;
  const int count = tables.num_harmonics;
  for (int b = 0; b < count; b += LaneCount(d)) {
    const V v = hn::Load(d, sums + b);
    hn::Store(hn::Mul(v, v), d, sums + b);
  }
  for (int n = 0; n <= tables.ang_order; n += LaneCount(d)) {
    const T* factor = &tables.angular[n];
    V even = hn::Set(d, T(-0.5) * self), odd = hn::Zero(d);
    int b = 0;
    for (; b + 2 <= count; b += 2, factor += 2 * tables.angular_stride) {
      even = hn::MulAdd(hn::Set(d, sums[b]), hn::LoadU(d, factor), even);
      odd = hn::MulAdd(hn::Set(d, sums[b + 1]), hn::LoadU(d, factor + tables.angular_stride), odd);
    }
    if (b < count) even = hn::MulAdd(hn::Set(d, sums[b]), hn::LoadU(d, factor), even);
    hn::StoreU(hn::Add(even, odd), d, row + n);
  }
}

template <typename T>
HWY_INLINE void ComputeAtom(const ChebyshevTables<T>& tables, const Found* found, ChebyshevScratch<T>* scratch,
                            T* features) {
  const hn::ScalableTag<T> d;
  const int num_species = static_cast<int>(tables.spins.size());
  const int num_weights = num_species > 1 ? 2 : 1;
  const WeightedSums<T> radial = {scratch->radial(0), num_weights > 1 ? scratch->radial(1) : nullptr};
  const WeightedSums<T> angular = {scratch->angular(0), num_weights > 1 ? scratch->angular(1) : nullptr};
  std::fill_n(scratch->radial(0), num_weights * scratch->radial_size(), T(0));
  std::fill_n(scratch->angular(0), num_weights * scratch->angular_size(), T(0));
  T self[2] = {0, 0};

  UnitVectors<T> units[256];
  for (int s = 0; s < num_species; ++s) {
    if (found[s].radial > 0) {
      AddRadialSums(d, tables, scratch->rad_square(s), found[s].radial,
                    {scratch->state(0), scratch->state(1), scratch->state(2)}, tables.spins[s], radial);
    }
    if (found[s].angular == 0) continue;
    const AngularNeighbors<T> near = {scratch->ang_vector(s, 0), scratch->ang_vector(s, 1), scratch->ang_vector(s, 2),
                                      found[s].angular};
    if (tables.method == AngularMethod::kMoments) {
      const T square =
          AddAngularSums(d, tables, near, {scratch->state(0), scratch->state(1), scratch->state(2), scratch->state(3)},
                         tables.spins[s], angular);
      self[0] += square;
      self[1] += tables.spins[s] * tables.spins[s] * square;
      continue;
    }
    units[s] = MakeUnitVectors(d, tables, near, scratch->cutoff(s));
    for (int other = 0; other <= s; ++other) {
      if (found[other].angular == 0) continue;
      AddTripletSums(d, tables, units[s], units[other], tables.spins[s] * tables.spins[other], angular);
    }
  }
  // Each part overwrites the padding of the one before it.
  T* row = scratch->row();
  for (int w = 0; w < num_weights; ++w) {
    std::memcpy(row, scratch->radial(w), (tables.rad_order + 1) * sizeof(T));
    row += tables.rad_order + 1;
    if (tables.method == AngularMethod::kMoments) {
      AngularFeatures(d, tables, scratch->angular(w), self[w], row);
    } else {
      std::memcpy(row, scratch->angular(w), (tables.ang_order + 1) * sizeof(T));
    }
    row += tables.ang_order + 1;
  }
  std::memcpy(features, scratch->row(), tables.num_features * sizeof(T));
}

template <typename T>
HWY_INLINE void ComputeStructure(const ChebyshevTables<T>& tables, const double* species_of_atom, int64_t num_atoms,
                                 const NeighborList& neighbors, ChebyshevScratch<T>* scratch, T* features) {
  Found found[256];
  const auto sort = tables.spins.size() == 1 ? Sort<1, T> : tables.spins.size() == 2 ? Sort<2, T> : Sort<0, T>;
  for (int64_t i = 0; i < num_atoms; ++i) {
    sort(tables, species_of_atom, neighbors, i, scratch, found);
    ComputeAtom(tables, found, scratch, features + i * tables.num_features);
  }
}

void ComputeDouble(const ChebyshevTables<double>& tables, const double* species_of_atom, int64_t num_atoms,
                   const NeighborList& neighbors, ChebyshevScratch<double>* scratch, double* features) {
  ComputeStructure(tables, species_of_atom, num_atoms, neighbors, scratch, features);
}

void ComputeFloat(const ChebyshevTables<float>& tables, const double* species_of_atom, int64_t num_atoms,
                  const NeighborList& neighbors, ChebyshevScratch<float>* scratch, float* features) {
  ComputeStructure(tables, species_of_atom, num_atoms, neighbors, scratch, features);
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace rutile {
namespace {

constexpr size_t kWidestVector = 16;  // floats in an AVX-512 register

HWY_EXPORT(ComputeDouble);
HWY_EXPORT(ComputeFloat);

// Checks lengths and reserves scratch memory; species_of_atom becomes [N] in the scratch.
template <typename T>
const double* Prepare(const ChebyshevTables<T>& tables, absl::Span<const uint8_t> species,
                      const NeighborList& neighbors, ChebyshevScratch<T>* scratch, size_t num_features) {
  CHECK_EQ(neighbors.offset.size(), species.size() + 1);
  CHECK_EQ(num_features, species.size() * tables.num_features);
  int64_t most = 0;
  for (size_t i = 0; i < species.size(); ++i) most = std::max(most, neighbors.offset[i + 1] - neighbors.offset[i]);
  scratch->Reserve(most);
  return scratch->SetSpecies(species);
}

}  // namespace

template <typename T>
ChebyshevScratch<T>::ChebyshevScratch(const ChebyshevTables<T>& tables)
    : num_species_(tables.spins.size()),
      radial_size_(RoundUp(tables.rad_order + 1, kWidestVector) + kWidestVector),
      angular_size_(RoundUp(tables.num_harmonics, kWidestVector) + kWidestVector),
      radial_(2 * radial_size_),
      angular_(2 * angular_size_),
      row_(tables.num_features + 2 * kWidestVector) {}

template <typename T>
void ChebyshevScratch<T>::Reserve(size_t neighbors) {
  if (neighbors + 2 * kWidestVector <= capacity_) return;
  // Adds half, so that a growing neighborhood does not reallocate each time.
  capacity_ = RoundUp(neighbors + neighbors / 2 + 2 * kWidestVector, kWidestVector);
  arrays_ = AlignedBuffer<T>((5 * num_species_ + 4) * capacity_);
  species_of_neighbor_ = AlignedBuffer<double>(capacity_);
}

template <typename T>
const double* ChebyshevScratch<T>::SetSpecies(absl::Span<const uint8_t> species) {
  species_of_atom_.assign(species.begin(), species.end());
  return species_of_atom_.data();
}

template class ChebyshevScratch<double>;
template class ChebyshevScratch<float>;

void ComputeChebyshev(const ChebyshevTables<double>& tables, absl::Span<const uint8_t> species,
                      const NeighborList& neighbors, ChebyshevScratch<double>* scratch, absl::Span<double> features) {
  const double* const species_of_atom = Prepare(tables, species, neighbors, scratch, features.size());
  HWY_DYNAMIC_DISPATCH(ComputeDouble)(tables, species_of_atom, species.size(), neighbors, scratch, features.data());
}

void ComputeChebyshev(const ChebyshevTables<float>& tables, absl::Span<const uint8_t> species,
                      const NeighborList& neighbors, ChebyshevScratch<float>* scratch, absl::Span<float> features) {
  const double* const species_of_atom = Prepare(tables, species, neighbors, scratch, features.size());
  HWY_DYNAMIC_DISPATCH(ComputeFloat)(tables, species_of_atom, species.size(), neighbors, scratch, features.data());
}

}  // namespace rutile

#endif  // HWY_ONCE
