#include "lib/neighbor/cell_list.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/base/logging.h"
#include "lib/neighbor/list_memory.h"
#include "lib/neighbor/radix_sort.h"

namespace rutile {
namespace {

// Atoms per block. With fewer atoms a block has fewer images to test; with more, they share the work of sorting. Of 16,
// 28, 48 and 80, 28 and 48 were equal and best (384 to 24000 atoms, cutoffs of 4 to 8 Angstrom).
constexpr double kAtomsInBlock = 36;

int BitsFor(int64_t count) {
  int bits = 0;
  while ((int64_t{1} << bits) < count) ++bits;
  return bits;
}

// Returns the cell of a bin index beyond the ends: -1 for the cell before the first one, and so on.
int32_t CellOf(int32_t bin, int32_t bins) { return bin >= 0 ? bin / bins : -((-bin + bins - 1) / bins); }

}  // namespace

void CellList::ChooseBins(const Structure& structure, const SearchInput& input, double reach) {
  pbc_ = structure.pbc;
  std::array<double, 3> length, extent;  // Angstrom between planes; in fractional units
  double volume = CellVolume(input.cell);
  for (int k = 0; k < 3; ++k) {
    origin_[k] = pbc_[k] ? std::floor(input.lowest[k]) : input.lowest[k];
    extent[k] = pbc_[k] ? 1 : std::max(input.highest[k] - input.lowest[k], 1e-3);
    length[k] = extent[k] * input.width[k];
    volume *= extent[k];
  }
  // Bins have equal edges, which grow if there would be too many bins (a thin direction has at least one).
  const double most_bins = structure.size() / kAtomsInBlock + 8;
  for (double edge = std::cbrt(volume * kAtomsInBlock / structure.size());; edge *= 1.25) {
    double total = 1;
    for (int k = 0; k < 3; ++k) total *= std::max(1.0, std::round(length[k] / edge));
    if (total > 2 * most_bins) continue;
    for (int k = 0; k < 3; ++k) {
      bins_[k] = static_cast<int32_t>(std::max(1.0, std::round(length[k] / edge)));
      scale_[k] = bins_[k] / extent[k];
      reach_[k] = static_cast<int32_t>(std::ceil(std::min(reach * bins_[k] / length[k], 1e6) + 1e-3));
    }
    return;
  }
}

void CellList::SortAtoms(const Structure& structure, const SearchInput& input) {
  const int64_t n = structure.size();
  const int64_t num_bins = int64_t{1} * bins_[0] * bins_[1] * bins_[2];
  bin_of_.resize(n);
  bin_begin_.assign(num_bins + 1, 0);
  for (int64_t i = 0; i < n; ++i) {
    int32_t bin = 0;
    for (int k = 0; k < 3; ++k) {
      const double f = input.fractional[3 * i + k] - origin_[k] + images_.wrap[3 * i + k];
      bin = bin * bins_[k] + std::clamp(static_cast<int32_t>(f * scale_[k]), 0, bins_[k] - 1);
    }
    bin_of_[i] = bin;
    ++bin_begin_[bin + 1];
  }
  for (int64_t b = 0; b < num_bins; ++b) bin_begin_[b + 1] += bin_begin_[b];

  GrowTo(n + kPadding, &order_.x);
  GrowTo(n + kPadding, &order_.y);
  GrowTo(n + kPadding, &order_.z);
  GrowTo(n + kPadding, &order_.j);
  std::vector<int32_t>& next = block_.atom;  // block_.atom is unused here and serves as scratch memory
  GrowTo(num_bins, &next);
  std::copy_n(bin_begin_.begin(), num_bins, next.begin());
  for (int64_t i = 0; i < n; ++i) {
    const int32_t k = next[bin_of_[i]]++;
    order_.x[k] = images_.x[i];
    order_.y[k] = images_.y[i];
    order_.z[k] = images_.z[i];
    order_.j[k] = static_cast<int32_t>(i);
  }
}

void CellList::FindRuns(const std::array<int32_t, 3>& b) {
  runs_.clear();
  std::array<int32_t, 3> low, high;
  for (int k = 0; k < 3; ++k) {
    low[k] = b[k] - reach_[k];
    high[k] = b[k] + reach_[k];
    const int32_t most = images_.most[k];
    low[k] = std::max(low[k], -most * bins_[k]);
    high[k] = std::min(high[k], (most + 1) * bins_[k] - 1);
  }
  const std::array<int32_t, 3>& most = images_.most;
  for (int32_t u = low[0]; u <= high[0]; ++u) {
    const int32_t tu = CellOf(u, bins_[0]);
    for (int32_t v = low[1]; v <= high[1]; ++v) {
      const int32_t tv = CellOf(v, bins_[1]);
      const int64_t column = (int64_t{1} * (u - tu * bins_[0]) * bins_[1] + (v - tv * bins_[1])) * bins_[2];
      for (int32_t tw = CellOf(low[2], bins_[2]); tw <= CellOf(high[2], bins_[2]); ++tw) {
        const int32_t first = std::max(low[2] - tw * bins_[2], 0);
        const int32_t last = std::min(high[2] - tw * bins_[2], bins_[2] - 1);
        const int32_t begin = bin_begin_[column + first], end = bin_begin_[column + last + 1];
        const int32_t image = ((tu + most[0]) * (2 * most[1] + 1) + tv + most[1]) * (2 * most[2] + 1) + tw + most[2];
        if (begin < end) runs_.push_back({begin, end, image});
      }
    }
  }
}

bool CellList::MakeBlock(int64_t bin) {
  const int32_t begin = bin_begin_[bin], end = bin_begin_[bin + 1];
  if (begin == end) return false;
  block_.num_atoms = end - begin;
  GrowTo(block_.num_atoms, &block_.atom);
  GrowTo(block_.num_atoms, &block_.self);
  std::copy(order_.j.begin() + begin, order_.j.begin() + end, block_.atom.begin());

  const int32_t b[3] = {static_cast<int32_t>(bin / bins_[2] / bins_[1]),
                        static_cast<int32_t>(bin / bins_[2] % bins_[1]), static_cast<int32_t>(bin % bins_[2])};
  FindRuns({b[0], b[1], b[2]});
  size_t most_ghosts = 0;
  for (const Run& run : runs_) most_ghosts += run.end - run.begin;
  block_.ReserveGhosts(most_ghosts);
  FindGhostsInRuns(images_, order_, runs_, &block_);
  // Until the ghosts are sorted, no ghost is known to be the atom itself. Entries beyond the last ghost are far from
  // every atom.
  std::fill_n(block_.self.begin(), block_.num_atoms, static_cast<int32_t>(block_.num_ghosts));
  return true;
}

void CellList::SortGhosts() {
  const int64_t n = block_.num_ghosts;
  const int image_bits = BitsFor(images_.num_images);
  if (static_cast<int64_t>(keys_.size()) < n) keys_.resize(n + n / 2);
  for (int64_t g = 0; g < n; ++g) keys_[g] = static_cast<uint64_t>(block_.j[g]) << image_bits | block_.image[g];
  RadixSort(image_bits + BitsFor(images_.num_atoms), n, &keys_, &key_scratch_);

  int64_t own = 0;  // number of atoms of the block whose own ghost was found
  for (int64_t g = 0; g < n; ++g) {
    const int32_t j = static_cast<int32_t>(keys_[g] >> image_bits);
    const int32_t t = static_cast<int32_t>(keys_[g] & ((uint64_t{1} << image_bits) - 1));
    block_.j[g] = j;
    block_.image[g] = t;
    block_.row[g] = images_.image_row[t] + images_.wrap_row[j];
    block_.gx[g] = images_.x[j] + images_.ix[t];
    block_.gy[g] = images_.y[j] + images_.iy[t];
    block_.gz[g] = images_.z[j] + images_.iz[t];
    if (t == images_.home && own < block_.num_atoms && j == block_.atom[own]) {
      block_.self[own++] = static_cast<int32_t>(g);
    }
  }
  CHECK_EQ(own, block_.num_atoms);
}

void CellList::CountAllPairs(const SearchInput& input, double cutoff, NeighborList* list) {
  const int64_t num_bins = static_cast<int64_t>(bin_begin_.size()) - 1;
  for (int64_t bin = 0; bin < num_bins; ++bin) {
    if (!MakeBlock(bin)) continue;
    GrowTo(block_.num_atoms, &place_);
    CountPairs(images_, &block_, cutoff, place_.data());
    for (int64_t q = 0; q < block_.num_atoms; ++q) {
      if (place_[q] < 0) {
        FindCandidates(images_, &block_, q, q + 1, &candidates_);
        place_[q] = CountPairsExact(input, images_, block_, candidates_, q, cutoff);
      }
      list->offset[block_.atom[q] + 1] = place_[q];
    }
  }
  for (int64_t i = 0; i < images_.num_atoms; ++i) list->offset[i + 1] += list->offset[i];
}

void CellList::WriteBlock(const SearchInput& input, double cutoff, const PairArrays& pairs, const NeighborList& list,
                          ClosePair* close) {
  const int64_t chunk = AtomsAtATime(block_);
  for (int64_t first = 0; first < block_.num_atoms; first += chunk) {
    const int64_t last = std::min(block_.num_atoms, first + chunk);
    FindCandidates(images_, &block_, first, last, &candidates_);
    GrowTo(last - first, &place_);
    for (int64_t q = first; q < last; ++q) place_[q - first] = list.offset[block_.atom[q]];
    // WritePairs needs space for all candidates. Atoms with candidates that are no pairs have less space and take the
    // exact path.
    const auto all_are_pairs = [&](int64_t q) {
      return place_[q - first] + candidates_.count[q - first] == list.offset[block_.atom[q] + 1];
    };
    for (int64_t q = first; q < last; ++q) {
      int64_t end = q;
      while (end < last && all_are_pairs(end)) ++end;
      q = WritePairs(images_, block_, candidates_, q, end, cutoff, place_.data(), pairs);
      if (q == last) break;
      WritePairsExact(input, images_, block_, candidates_, q, cutoff, place_[q - first], pairs, close);
    }
  }
}

absl::Status CellList::Compute(const Structure& structure, const SearchInput& input, double cutoff,
                               const NeighborOptions& options, NeighborList* list) {
  const int64_t num_atoms = structure.size();
  list->offset.assign(num_atoms + 1, 0);
  list->nearest_squared = std::numeric_limits<double>::infinity();
  if (num_atoms == 0) {
    ResizeList(0, options, list);
    return absl::OkStatus();
  }
  const double reach = SearchRadius(cutoff);
  MakePeriodicImages(structure, input, reach, /*wrap_all=*/true, &images_);
  ChooseBins(structure, input, reach);
  SortAtoms(structure, input);
  CountAllPairs(input, cutoff, list);
  ResizeList(list->offset[num_atoms], options, list);

  const PairArrays pairs = ArraysOf(options, list);
  const int64_t num_bins = static_cast<int64_t>(bin_begin_.size()) - 1;
  ClosePair close;
  for (int64_t bin = 0; bin < num_bins; ++bin) {
    if (!MakeBlock(bin)) continue;
    SortGhosts();
    WriteBlock(input, cutoff, pairs, *list, &close);
  }
  if (close.i >= 0) return TooNear(close.i, close.j, close.shift, close.squared_distance);
  return absl::OkStatus();
}

}  // namespace rutile
