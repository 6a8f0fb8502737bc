#include "lib/neighbor/ghost_block.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

// foreach_target.h compiles this file once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/neighbor/ghost_block.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "lib/machine/simd.h"
#include "lib/neighbor/neighbor_list.h"

HWY_BEFORE_NAMESPACE();
namespace rutile {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<int32_t>;
static_assert(HWY_MAX_BYTES / sizeof(float) <= kPadding, "arrays are padded for the widest vector");

// Fills the padding behind the last ghost with a far-away value, so that no loop over ghosts needs a remainder.
void PadGhosts(GhostBlock* block) {
  const Floats d;
  const auto far_away = hn::Set(d, kFarAway);
  for (size_t k = 0; k < kPadding; k += hn::Lanes(d)) {
    hn::StoreU(far_away, d, block->gx.data() + block->num_ghosts + k);
    hn::StoreU(far_away, d, block->gy.data() + block->num_ghosts + k);
    hn::StoreU(far_away, d, block->gz.data() + block->num_ghosts + k);
  }
}

// Compresses in registers and stores a whole vector, because the compressing store of AVX-512 is microcode on some
// machines (Zen 4).
template <class D, class V, class M>
HWY_INLINE void StorePacked(D d, V v, M mask, hn::TFromD<D>* to) {
  hn::StoreU(hn::Compress(v, mask), d, to);
}

// The bounding box of a block's atoms; tells which points are within reach of it.
class NearBox {
 public:
  NearBox(const PeriodicImages& images, const GhostBlock& block) {
    const float* r[3] = {images.x.data(), images.y.data(), images.z.data()};
    for (int k = 0; k < 3; ++k) {
      float low = r[k][block.atom[0]], high = low;
      for (int64_t q = 1; q < block.num_atoms; ++q) {
        low = std::min(low, r[k][block.atom[q]]);
        high = std::max(high, r[k][block.atom[q]]);
      }
      middle_[k] = 0.5f * (low + high);
      half_[k] = 0.5f * (high - low);
    }
    limit_ = images.reach * images.reach;
  }

  template <class V>
  HWY_INLINE auto Contains(V x, V y, V z) const {
    const Floats d;
    const V dx = Outside(x, 0), dy = Outside(y, 1), dz = Outside(z, 2);
    return hn::Le(hn::MulAdd(dz, dz, hn::MulAdd(dy, dy, hn::Mul(dx, dx))), hn::Set(d, limit_));
  }

 private:
  template <class V>
  HWY_INLINE V Outside(V x, int k) const {
    const Floats d;
    const V away = hn::Abs(hn::Sub(x, hn::Set(d, middle_[k])));
    return hn::Max(hn::Sub(away, hn::Set(d, half_[k])), hn::Zero(d));
  }

  float middle_[3], half_[3], limit_;
};

void FindAllGhosts(const PeriodicImages& images, GhostBlock* block) {
  const Floats d;
  const Ints di;
  const size_t lanes = hn::Lanes(d);
  const int32_t num_atoms = static_cast<int32_t>(images.num_atoms), num_images = images.num_images;
  GrowTo(num_atoms, &block->atom);
  GrowTo(num_atoms, &block->self);
  block->num_atoms = num_atoms;
  for (int32_t i = 0; i < num_atoms; ++i) block->atom[i] = i;
  const NearBox box(images, *block);
  const float *ix = images.ix.data(), *iy = images.iy.data(), *iz = images.iz.data();
  const int32_t* image_row = images.image_row.data();

  size_t n = 0;
  for (int32_t j = 0; j < num_atoms; ++j) {
    block->ReserveGhosts(n + num_images);
    const auto xj = hn::Set(d, images.x[j]), yj = hn::Set(d, images.y[j]), zj = hn::Set(d, images.z[j]);
    const auto row_j = hn::Set(di, images.wrap_row[j]);
    float *gx = block->gx.data(), *gy = block->gy.data(), *gz = block->gz.data();
    int32_t *image = block->image.data(), *row = block->row.data(), *ghost_j = block->j.data();
    for (int32_t t = 0; t < num_images; t += lanes) {
      const auto x = hn::Add(xj, hn::LoadU(d, ix + t));
      const auto y = hn::Add(yj, hn::LoadU(d, iy + t));
      const auto z = hn::Add(zj, hn::LoadU(d, iz + t));
      const auto near = box.Contains(x, y, z);
      const auto near_int = hn::RebindMask(di, near);
      StorePacked(d, x, near, gx + n);
      StorePacked(d, y, near, gy + n);
      StorePacked(d, z, near, gz + n);
      StorePacked(di, hn::Iota(di, t), near_int, image + n);
      StorePacked(di, hn::Add(row_j, hn::LoadU(di, image_row + t)), near_int, row + n);
      hn::StoreU(hn::Set(di, j), di, ghost_j + n);
      const int32_t before_home = images.home - t;
      if (0 <= before_home && before_home < static_cast<int32_t>(lanes)) {
        block->self[j] = static_cast<int32_t>(n + hn::CountTrue(d, hn::And(near, hn::FirstN(d, before_home))));
      }
      n += hn::CountTrue(d, near);
    }
  }
  block->num_ghosts = n;
  PadGhosts(block);
}

void FindGhostsInRuns(const PeriodicImages& images, const CellOrder& order, absl::Span<const Run> runs,
                      GhostBlock* block) {
  const Floats d;
  const Ints di;
  const int32_t lanes = static_cast<int32_t>(hn::Lanes(d));
  const NearBox box(images, *block);
  const float *ox = order.x.data(), *oy = order.y.data(), *oz = order.z.data();
  const int32_t* oj = order.j.data();
  float *gx = block->gx.data(), *gy = block->gy.data(), *gz = block->gz.data();
  int32_t *ghost_j = block->j.data(), *ghost_image = block->image.data();
  size_t n = 0;
  for (const Run& run : runs) {
    const auto ix = hn::Set(d, images.ix[run.image]), iy = hn::Set(d, images.iy[run.image]),
               iz = hn::Set(d, images.iz[run.image]);
    const auto image = hn::Set(di, run.image);
    for (int32_t k = run.begin; k < run.end; k += lanes) {
      const auto x = hn::Add(ix, hn::LoadU(d, ox + k));
      const auto y = hn::Add(iy, hn::LoadU(d, oy + k));
      const auto z = hn::Add(iz, hn::LoadU(d, oz + k));
      const auto near = hn::And(box.Contains(x, y, z), hn::FirstN(d, std::min(lanes, run.end - k)));
      StorePacked(d, x, near, gx + n);
      StorePacked(d, y, near, gy + n);
      StorePacked(d, z, near, gz + n);
      StorePacked(di, hn::LoadU(di, oj + k), hn::RebindMask(di, near), ghost_j + n);
      hn::StoreU(image, di, ghost_image + n);
      n += hn::CountTrue(d, near);
    }
  }
  block->num_ghosts = n;
}

// Calls found(squared distances, mask of near ghosts, ghost indices) for the ghosts of a block and atom q, a vector at
// a time.
template <class Found>
HWY_INLINE void ForEachNear(const PeriodicImages& images, const GhostBlock& block, int64_t q, const Found& found) {
  const Floats d;
  const Ints di;
  const int32_t i = block.atom[q];
  const auto x = hn::Set(d, images.x[i]), y = hn::Set(d, images.y[i]), z = hn::Set(d, images.z[i]);
  const auto limit = hn::Set(d, images.reach * images.reach);
  const auto step = hn::Set(di, static_cast<int32_t>(hn::Lanes(d)));
  auto ghosts = hn::Iota(di, 0);
  const float *gx = block.gx.data(), *gy = block.gy.data(), *gz = block.gz.data();
  const int64_t num_ghosts = block.num_ghosts;
  for (int64_t g = 0; g < num_ghosts; g += hn::Lanes(d)) {
    const auto dx = hn::Sub(hn::LoadU(d, gx + g), x);
    const auto dy = hn::Sub(hn::LoadU(d, gy + g), y);
    const auto dz = hn::Sub(hn::LoadU(d, gz + g), z);
    const auto d2 = hn::MulAdd(dz, dz, hn::MulAdd(dy, dy, hn::Mul(dx, dx)));
    found(d2, hn::Le(d2, limit), ghosts);
    ghosts = hn::Add(ghosts, step);
  }
}

void CountPairs(const PeriodicImages& images, GhostBlock* block, double cutoff, int64_t* count) {
  const Floats d;
  PadGhosts(block);
  const float certain = static_cast<float>(std::max(0.0, cutoff - images.room));
  const auto inside = hn::Set(d, certain * certain);
  for (int64_t q = 0; q < block->num_atoms; ++q) {
    int64_t n = -1;  // starts at -1 to leave out the atom itself
    int64_t n_certain = -1;
    ForEachNear(images, *block, q, [&](auto d2, auto near, auto) {
      n += hn::CountTrue(d, near);
      n_certain += hn::CountTrue(d, hn::Le(d2, inside));
    });
    count[q] = n == n_certain ? n : -1;
  }
}

void FindCandidates(const PeriodicImages& images, GhostBlock* block, int64_t first, int64_t last,
                    Candidates* candidates) {
  const Floats d;
  const Ints di;
  GrowTo((last - first) * (block->num_ghosts + 4) + kPadding, &candidates->ghost);
  GrowTo(last - first, &candidates->begin);
  GrowTo(last - first, &candidates->count);
  candidates->first = first;
  PadGhosts(block);
  int32_t* ghost = reinterpret_cast<int32_t*>(candidates->ghost.data());
  int64_t begin = 0;
  for (int64_t q = first; q < last; ++q) {
    int32_t* to = ghost + begin;
    // An atom is not its own candidate: its ghost is moved away while its candidates are found.
    float* self = &block->gx[block->self[q]];
    const float here = *self;
    *self = kFarAway;
    ForEachNear(images, *block, q, [&](auto, auto near, auto ghosts) {
      StorePacked(di, ghosts, hn::RebindMask(di, near), to);
      to += hn::CountTrue(d, near);
    });
    *self = here;
    const int64_t n = to - (ghost + begin);
    candidates->begin[q - first] = begin;
    candidates->count[q - first] = n;
    // WritePairs takes four candidates at a time, so the last one is repeated.
    if (n > 0) std::fill_n(to, 3, to[-1]);
    begin += n + 3;
  }
}

#if HWY_TARGET <= HWY_AVX2  // and better

using Four = hn::FixedTag<double, 4>;
using FourVec = hn::VFromD<Four>;

template <bool kShifts, bool kVectors>
class PairWriter {
 public:
  PairWriter(const PeriodicImages& images, const GhostBlock& block, double cutoff, const PairArrays& pairs)
      : position_(images.position.data()),
        table_vector_(images.table_vector.data()),
        table_shift_(images.table_shift.data()),
        wrap_row_(images.wrap_row.data()),
        ghost_j_(block.j.data()),
        ghost_row_(block.row.data()),
        pairs_(pairs),
        longest_(cutoff * cutoff),
        nearest_(hn::Set(Four(), std::numeric_limits<double>::infinity())) {}

  // Writes four pairs at a time. Returns false if a candidate is not a valid pair.
  HWY_INLINE bool Write(int32_t i, const uint32_t* ghost, int64_t n, int64_t place) {
    const Four d;
    const FourVec ri = hn::LoadU(d, position_ + 4 * static_cast<size_t>(i));
    // The table's rows are relative to the wrap of this atom, whose row number is never positive.
    const size_t row = static_cast<size_t>(-wrap_row_[i]);
    int32_t* j = pairs_.j + place;
    int16_t* shift = kShifts ? pairs_.shift + 3 * place : nullptr;
    double* dx = kVectors ? pairs_.dx + place : nullptr;
    double* dy = kVectors ? pairs_.dy + place : nullptr;
    double* dz = kVectors ? pairs_.dz + place : nullptr;
    FourVec nearest = hn::Set(d, std::numeric_limits<double>::infinity()), farthest = hn::Zero(d), x, y, z;
    int64_t p = 0;
    for (; p + 4 <= n; p += 4) {
      Vectors(ri, row, ghost + p, &x, &y, &z, &nearest, &farthest);
      if (kVectors) {
        hn::StoreU(x, d, dx + p);
        hn::StoreU(y, d, dy + p);
        hn::StoreU(z, d, dz + p);
      }
      for (int q = 0; q < 4; ++q) j[p + q] = ghost_j_[ghost[p + q]];
      if (kShifts) {
        // Stores four int16: three shifts and one more, which the next pair overwrites. The last pair stores exactly
        // three.
        for (int q = 0; q < 3; ++q) CopyShift(row, ghost[p + q], 4, shift + 3 * (p + q));
        CopyShift(row, ghost[p + 3], 3, shift + 3 * (p + 3));
      }
    }
    if (p < n) {  // the next entries may belong to another atom
      Vectors(ri, row, ghost + p, &x, &y, &z, &nearest, &farthest);
      if (kVectors) {
        const auto mask = hn::FirstN(d, n - p);
        hn::BlendedStore(x, mask, d, dx + p);
        hn::BlendedStore(y, mask, d, dy + p);
        hn::BlendedStore(z, mask, d, dz + p);
      }
      for (; p < n; ++p) {
        j[p] = ghost_j_[ghost[p]];
        if (kShifts) CopyShift(row, ghost[p], 3, shift + 3 * p);
      }
    }
    if (!hn::AllTrue(d, hn::Ge(nearest, hn::Set(d, kSmallestDistance * kSmallestDistance))) ||
        !hn::AllTrue(d, hn::Le(farthest, hn::Set(d, longest_)))) {
      return false;
    }
    nearest_ = hn::Min(nearest_, nearest);
    return true;
  }

  // Smallest squared distance of all pairs written.
  double NearestSquared() const { return hn::GetLane(hn::MinOfLanes(Four(), nearest_)); }

 private:
  // Returns r_ij of one candidate: {dx, dy, dz, 0}.
  HWY_INLINE FourVec Vector(FourVec ri, size_t row, uint32_t ghost) const {
    const Four d;
    return hn::Add(hn::Sub(hn::LoadU(d, position_ + 4 * static_cast<size_t>(ghost_j_[ghost])), ri),
                   hn::LoadU(d, table_vector_ + 4 * (row + ghost_row_[ghost])));
  }

  // Computes r_ij of four candidates, transposed, and the extremes of their squared lengths.
  HWY_INLINE void Vectors(FourVec ri, size_t row, const uint32_t* ghost, FourVec* x, FourVec* y, FourVec* z,
                          FourVec* nearest, FourVec* farthest) const {
    const Four d;
    const FourVec a = Vector(ri, row, ghost[0]), b = Vector(ri, row, ghost[1]);
    const FourVec c = Vector(ri, row, ghost[2]), e = Vector(ri, row, ghost[3]);
    const FourVec xz_ab = hn::InterleaveLower(d, a, b), xz_ce = hn::InterleaveLower(d, c, e);
    const FourVec y_ab = hn::InterleaveUpper(d, a, b), y_ce = hn::InterleaveUpper(d, c, e);
    *x = hn::ConcatLowerLower(d, xz_ce, xz_ab);
    *y = hn::ConcatLowerLower(d, y_ce, y_ab);
    *z = hn::ConcatUpperUpper(d, xz_ce, xz_ab);
    const FourVec d2 = hn::Add(hn::Add(hn::Mul(*x, *x), hn::Mul(*y, *y)), hn::Mul(*z, *z));
    *nearest = hn::Min(*nearest, d2);
    *farthest = hn::Max(*farthest, d2);
  }

  HWY_INLINE void CopyShift(size_t row, uint32_t ghost, int count, int16_t* to) const {
    std::memcpy(to, table_shift_ + 4 * (row + ghost_row_[ghost]), count * sizeof(int16_t));
  }

  const double* HWY_RESTRICT position_;
  const double* HWY_RESTRICT table_vector_;
  const int16_t* HWY_RESTRICT table_shift_;
  const int32_t* HWY_RESTRICT wrap_row_;
  const int32_t* HWY_RESTRICT ghost_j_;
  const int32_t* HWY_RESTRICT ghost_row_;
  const PairArrays pairs_;
  const double longest_;
  FourVec nearest_;
};

template <bool kShifts, bool kVectors>
int64_t WritePairsOfBlock(const PeriodicImages& images, const GhostBlock& block, const Candidates& candidates,
                          int64_t begin, int64_t end, double cutoff, const int64_t* place, const PairArrays& pairs) {
  PairWriter<kShifts, kVectors> writer(images, block, cutoff, pairs);
  const int32_t* atom = block.atom.data();
  const uint32_t* ghost = candidates.ghost.data();
  int64_t q = begin;
  for (; q < end; ++q) {
    const int64_t c = q - candidates.first;
    if (!writer.Write(atom[q], ghost + candidates.begin[c], candidates.count[c], place[c])) break;
  }
  *pairs.nearest_squared = std::min(*pairs.nearest_squared, writer.NearestSquared());
  return q;
}

int64_t WritePairs(const PeriodicImages& images, const GhostBlock& block, const Candidates& candidates, int64_t begin,
                   int64_t end, double cutoff, const int64_t* place, const PairArrays& pairs) {
  if (!images.has_table) return begin;
  const bool shifts = pairs.shift != nullptr, vectors = pairs.dx != nullptr;
  const auto write = shifts    ? (vectors ? WritePairsOfBlock<true, true> : WritePairsOfBlock<true, false>)
                     : vectors ? WritePairsOfBlock<false, true>
                               : WritePairsOfBlock<false, false>;
  return write(images, block, candidates, begin, end, cutoff, place, pairs);
}

#else

int64_t WritePairs(const PeriodicImages& images, const GhostBlock& block, const Candidates& candidates, int64_t begin,
                   int64_t end, double cutoff, const int64_t* place, const PairArrays& pairs) {
  return begin;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace rutile
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rutile {

HWY_EXPORT(FindAllGhosts);
HWY_EXPORT(FindGhostsInRuns);
HWY_EXPORT(CountPairs);
HWY_EXPORT(FindCandidates);
HWY_EXPORT(WritePairs);

void GhostBlock::ReserveGhosts(size_t n) {
  n += kPadding;
  GrowTo(n, &gx);
  GrowTo(n, &gy);
  GrowTo(n, &gz);
  GrowTo(n, &j);
  GrowTo(n, &image);
  GrowTo(n, &row);
}

void FindAllGhosts(const PeriodicImages& images, GhostBlock* block) {
  HWY_DYNAMIC_DISPATCH(FindAllGhosts)(images, block);
}

void FindGhostsInRuns(const PeriodicImages& images, const CellOrder& order, absl::Span<const Run> runs,
                      GhostBlock* block) {
  HWY_DYNAMIC_DISPATCH(FindGhostsInRuns)(images, order, runs, block);
}

void CountPairs(const PeriodicImages& images, GhostBlock* block, double cutoff, int64_t* count) {
  HWY_DYNAMIC_DISPATCH(CountPairs)(images, block, cutoff, count);
}

void FindCandidates(const PeriodicImages& images, GhostBlock* block, int64_t first, int64_t last,
                    Candidates* candidates) {
  HWY_DYNAMIC_DISPATCH(FindCandidates)(images, block, first, last, candidates);
}

int64_t WritePairs(const PeriodicImages& images, const GhostBlock& block, const Candidates& candidates, int64_t begin,
                   int64_t end, double cutoff, const int64_t* place, const PairArrays& pairs) {
  return HWY_DYNAMIC_DISPATCH(WritePairs)(images, block, candidates, begin, end, cutoff, place, pairs);
}

}  // namespace rutile
#endif
