#include "lib/neighbor/exact_pairs.h"

#include <algorithm>

#include "lib/neighbor/neighbor_list.h"

namespace rutile {

namespace {

struct Pair {
  int32_t j;
  int16_t shift[3];
  double dx, dy, dz, d2;
};

// Calls use(pair, true if it is too near) for the candidates of atom q up to the cutoff, until use returns false.
template <class Use>
void ForEachPair(const SearchInput& input, const PeriodicImages& images, const GhostBlock& block,
                 const Candidates& candidates, int64_t q, double cutoff, const Use& use) {
  const int32_t i = block.atom[q];
  const double* ri = &images.position[4 * static_cast<size_t>(i)];
  const int32_t* wrap_i = &images.wrap[3 * static_cast<size_t>(i)];
  const int64_t c = q - candidates.first;
  const uint32_t* ghost = &candidates.ghost[candidates.begin[c]];
  Pair pair;
  for (int64_t k = 0; k < candidates.count[c]; ++k) {
    pair.j = block.j[ghost[k]];
    const double* rj = &images.position[4 * static_cast<size_t>(pair.j)];
    const int32_t* wrap_j = &images.wrap[3 * static_cast<size_t>(pair.j)];
    const int32_t* t = &images.image[3 * static_cast<size_t>(block.image[ghost[k]])];
    for (int a = 0; a < 3; ++a) pair.shift[a] = static_cast<int16_t>(t[a] + wrap_j[a] - wrap_i[a]);
    if (pair.j == i && pair.shift[0] == 0 && pair.shift[1] == 0 && pair.shift[2] == 0) continue;
    const Vector3 s = ShiftVector(input.cell, pair.shift[0], pair.shift[1], pair.shift[2]);
    pair.dx = (rj[0] - ri[0]) + s[0];
    pair.dy = (rj[1] - ri[1]) + s[1];
    pair.dz = (rj[2] - ri[2]) + s[2];
    pair.d2 = (pair.dx * pair.dx + pair.dy * pair.dy) + pair.dz * pair.dz;
    const bool too_near = pair.d2 < kSmallestDistance * kSmallestDistance;
    if ((too_near || pair.d2 <= cutoff * cutoff) && !use(pair, too_near)) return;
  }
}

}  // namespace

int64_t WritePairsExact(const SearchInput& input, const PeriodicImages& images, const GhostBlock& block,
                        const Candidates& candidates, int64_t q, double cutoff, int64_t place, const PairArrays& pairs,
                        ClosePair* close) {
  const int32_t i = block.atom[q];
  int64_t p = place;
  ForEachPair(input, images, block, candidates, q, cutoff, [&](const Pair& pair, bool too_near) {
    if (too_near) {
      if (close->i < 0 || i < close->i) {
        close->i = i;
        close->j = pair.j;
        std::copy_n(pair.shift, 3, close->shift);
        close->squared_distance = pair.d2;
      }
      return false;
    }
    pairs.j[p] = pair.j;
    if (pairs.dx != nullptr) {
      pairs.dx[p] = pair.dx;
      pairs.dy[p] = pair.dy;
      pairs.dz[p] = pair.dz;
    }
    *pairs.nearest_squared = std::min(*pairs.nearest_squared, pair.d2);
    if (pairs.shift != nullptr) std::copy_n(pair.shift, 3, pairs.shift + 3 * p);
    ++p;
    return true;
  });
  return p - place;
}

int64_t CountPairsExact(const SearchInput& input, const PeriodicImages& images, const GhostBlock& block,
                        const Candidates& candidates, int64_t q, double cutoff) {
  int64_t count = 0;
  ForEachPair(input, images, block, candidates, q, cutoff, [&](const Pair&, bool) {
    ++count;
    return true;
  });
  return count;
}

}  // namespace rutile
