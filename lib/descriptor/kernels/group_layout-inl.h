// Sizes and offsets that the three interleaved kernels share, and their parts that run over triplets. Highway compiles
// this file once for each instruction set.

#if defined(RUTILE_LIB_DESCRIPTOR_KERNELS_GROUP_LAYOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUTILE_LIB_DESCRIPTOR_KERNELS_GROUP_LAYOUT_INL_H_
#undef RUTILE_LIB_DESCRIPTOR_KERNELS_GROUP_LAYOUT_INL_H_
#else
#define RUTILE_LIB_DESCRIPTOR_KERNELS_GROUP_LAYOUT_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/base/logging.h"
#include "lib/descriptor/kernels/angular_moments-inl.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/contract_moments-inl.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"
#include "lib/descriptor/kernels/triplets/triplet_loops-inl.h"
#include "lib/machine/simd.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {

template <typename T>
using LaneTag = hn::CappedTag<T, 32 / sizeof(T)>;

// Hands out pieces of one buffer, each of whole vectors.
template <typename T>
class Arena {
 public:
  Arena(AlignedBuffer<T>* buffer, size_t lanes, size_t vectors) : lanes_(lanes) {
    buffer->Resize(vectors * lanes);
    next_ = buffer->data();
    end_ = next_ + vectors * lanes;
  }
  T* Take(size_t vectors) {
    T* const taken = next_;
    next_ += vectors * lanes_;
    DCHECK_LE(next_ - taken, end_ - taken);
    return taken;
  }

 private:
  T *next_, *end_;
  size_t lanes_;
};

// The sizes of a descriptor, and where the data of a group lies.
template <typename T>
struct GroupLayout {
  static constexpr LaneTag<T> d = {};
  using V = hn::Vec<LaneTag<T>>;

  const ChebyshevTables<T>& tables;
  InterleavedNeighbors<T>* state;
  const InterleavedView<T> neighbors;
  const size_t lanes = hn::Lanes(d);
  const int num_species = static_cast<int>(tables.spins.size()), num_weights = num_species > 1 ? 2 : 1;
  const int radial = tables.rad_order + 1, angular = tables.ang_order + 1, harmonics = tables.num_harmonics;
  const bool triplets = tables.method == AngularMethod::kTriplets;

  // Returns an arena that is large enough for each of the three kernels.
  Arena<T> MakeArena() const {
    return Arena<T>(&state->group, lanes, tables.num_features + 8 * (radial + angular) + 6 * harmonics + 8);
  }

  const int32_t* Atoms(int64_t g) const { return &neighbors.atom[g * lanes]; }
  const InterleavedBlock& Block(int64_t g, int s) const { return neighbors.block[g * num_species + s]; }
  Slots<T> SlotsOf(int64_t g, int s) const {
    const size_t at = Block(g, s).begin * lanes;
    return {neighbors.x + at, neighbors.y + at, neighbors.z + at, neighbors.r + at};
  }
  const int32_t* Indices(int64_t g, int s) const { return neighbors.j + Block(g, s).begin * lanes; }
  // The number of elements in a group, and those before species s in it.
  size_t Size(int64_t g) const {
    const auto& last = Block(g, num_species - 1);
    return (last.begin + last.slots - Block(g, 0).begin) * lanes;
  }
  size_t Before(int64_t g, int s) const { return (Block(g, s).begin - Block(g, 0).begin) * lanes; }
  // Where the features with weight 1 (w = 0) or with typespins (w = 1) lie in a row.
  size_t RadialRow(int w) const { return w * (radial + angular) * lanes; }
  size_t AngularRow(int w) const { return RadialRow(w) + radial * lanes; }
  size_t MomentsOf(int64_t g, int w) const { return (g * num_weights + w) * harmonics * lanes; }

  // Computes f_c of a group's neighbors into `value` and its derivative into `slope`. The caller sets the other members
  // of `slots`.
  void PrepareTriplets(int64_t g, T* value, T* slope, TripletSlots<T>* slots) const {
    for (int s = 0; s < num_species; ++s) {
      slots[s].at = SlotsOf(g, s);
      slots[s].value = value + Before(g, s);
      slots[s].slope = slope + Before(g, s);
      slots[s].count = Block(g, s).angular;
      slots[s].first = Block(g, s).first;
      AngularCutoffs(d, tables, slots[s].at.r, slots[s].count, value + Before(g, s), slope + Before(g, s));
    }
  }
};

// --- Triplets ---

// Adds the angular features of a group to `row`. sums: [angular] vectors of scratch.
template <typename T>
HWY_NOINLINE void TripletFeatures(const GroupLayout<T>& k, int64_t g, T* sums, T* row) {
  k.state->slots.Resize(2 * k.Size(g));
  T* const value = k.state->slots.data();
  TripletSlots<T> slots[256];
  k.PrepareTriplets(g, value, value + k.Size(g), slots);
  for (int s = 0; s < k.num_species; ++s) {
    for (int t = 0; t <= s; ++t) {
      FillZero(k.d, k.angular, sums);
      ForEachTriplet(k.d, AddTripletValues<T>{&k.tables, sums}, slots[t], slots[s], s == t);
      AddScaled(k.d, T(1), sums, k.angular, row + k.AngularRow(0));
      if (k.num_weights == 1) continue;
      AddScaled(k.d, k.tables.spins[s] * k.tables.spins[t], sums, k.angular, row + k.AngularRow(1));
    }
  }
}

// Computes the derivatives by r_ij of the angular part of a group, from slopes q [F], into x, y, z [slots]. Scratch:
// value and slope, [angular] vectors each, and slots_scratch, [3, slots].
template <typename T>
HWY_NOINLINE void TripletSlopes(const GroupLayout<T>& k, int64_t g, const T* q, T* value, T* slope, T* x, T* y, T* z,
                                T* slots_scratch) {
  const size_t size = k.Size(g);
  T* const sum = slots_scratch;
  TripletSlots<T> slots[256];
  k.PrepareTriplets(g, sum + size, sum + 2 * size, slots);
  for (T* const each : {x, y, z, sum}) std::fill_n(each, size, T(0));
  for (int s = 0; s < k.num_species; ++s) {
    const size_t before = k.Before(g, s);
    slots[s].sum_x = x + before;
    slots[s].sum_y = y + before;
    slots[s].sum_z = z + before;
    slots[s].sum = sum + before;
  }
  for (int s = 0; s < k.num_species; ++s) {
    for (int t = 0; t <= s; ++t) {
      Join(k.d, q + k.AngularRow(0), k.num_weights > 1 ? q + k.AngularRow(1) : nullptr,
           k.tables.spins[s] * k.tables.spins[t], k.angular, value);
      SlopeCoefficients(k.d, k.tables.ang_order, T(2), value, slope);
      ForEachTriplet(k.d, AddTripletSlopes<T>{&k.tables, value, slope}, slots[t], slots[s], s == t);
    }
  }
  for (int s = 0; s < k.num_species; ++s) FinishTripletSlopes(k.d, slots[s]);
}

// Adds the change of the angular features of a group to `row`. x, y, z, r: [slots] how neighbors change. Scratch: value
// and slope, [angular] vectors each, and slots_scratch, [3, slots].
template <typename T>
HWY_NOINLINE void TripletChanges(const GroupLayout<T>& k, int64_t g, T* value, T* slope, const T* x, const T* y,
                                 const T* z, const T* r, T* slots_scratch, T* row) {
  const size_t size = k.Size(g);
  T* const df = slots_scratch;
  TripletSlots<T> slots[256];
  k.PrepareTriplets(g, df + size, df + 2 * size, slots);
  for (int s = 0; s < k.num_species; ++s) {
    const size_t before = k.Before(g, s);
    for (size_t p = 0; p < slots[s].count * k.lanes; p += k.lanes) {
      hn::Store(hn::Mul(hn::Load(k.d, slots[s].slope + p), hn::Load(k.d, r + before + p)), k.d, df + before + p);
    }
    slots[s].tangents = {x + before, y + before, z + before, df + before};
  }
  for (int s = 0; s < k.num_species; ++s) {
    for (int t = 0; t <= s; ++t) {
      FillZero(k.d, k.angular, value);
      FillZero(k.d, k.angular, slope);
      ForEachTriplet(k.d, AddTripletTangents<T>{&k.tables, value, slope}, slots[t], slots[s], s == t);
      AddPolynomialSlopes(k.d, k.tables.ang_order, slope, value);
      AddScaled(k.d, T(1), value, k.angular, row + k.AngularRow(0));
      if (k.num_weights == 1) continue;
      AddScaled(k.d, k.tables.spins[s] * k.tables.spins[t], value, k.angular, row + k.AngularRow(1));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#endif  // include guard
