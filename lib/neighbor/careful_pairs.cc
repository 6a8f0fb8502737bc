#include "lib/neighbor/careful_pairs.h"

#include <algorithm>

#include "lib/neighbor/neighbor_list.h"

namespace rutile {

int64_t WritePairsCarefully(const LatticeFrame& frame, const PeriodicImages& images, const NearBlock& block,
                            const Candidates& candidates, int64_t q, double cutoff, int64_t place,
                            const PairArrays& pairs, ClosePair* close) {
  const int32_t i = block.atom[q];
  const double* ri = &images.position[4 * static_cast<size_t>(i)];
  const int32_t* wrap_i = &images.wrap[3 * static_cast<size_t>(i)];
  const int64_t c = q - candidates.first;
  const uint32_t* ghost = &candidates.ghost[candidates.begin[c]];
  int64_t p = place;
  for (int64_t k = 0; k < candidates.count[c]; ++k) {
    const int32_t j = block.j[ghost[k]];
    const double* rj = &images.position[4 * static_cast<size_t>(j)];
    const int32_t* wrap_j = &images.wrap[3 * static_cast<size_t>(j)];
    const int32_t* t = &images.image[3 * static_cast<size_t>(block.image[ghost[k]])];
    int16_t shift[3];
    for (int a = 0; a < 3; ++a) shift[a] = static_cast<int16_t>(t[a] + wrap_j[a] - wrap_i[a]);
    const Vector3 s = ShiftVector(frame.cell, shift[0], shift[1], shift[2]);
    const double dx = (rj[0] - ri[0]) + s[0], dy = (rj[1] - ri[1]) + s[1], dz = (rj[2] - ri[2]) + s[2];
    const double d2 = (dx * dx + dy * dy) + dz * dz;
    if (d2 < kSmallestDistance * kSmallestDistance) {
      if (close->i < 0 || i < close->i) {
        close->i = i;
        close->j = j;
        std::copy_n(shift, 3, close->shift);
        close->squared_distance = d2;
      }
      break;
    }
    if (d2 > cutoff * cutoff) continue;
    pairs.j[p] = j;
    pairs.dx[p] = dx;
    pairs.dy[p] = dy;
    pairs.dz[p] = dz;
    if (pairs.shift != nullptr) std::copy_n(shift, 3, pairs.shift + 3 * p);
    ++p;
  }
  return p - place;
}

}  // namespace rutile
