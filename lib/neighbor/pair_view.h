// Views of cached neighbors in a file or in memory: an index and a lattice shift, 10 bytes a pair, from which exact
// vectors can be computed.

#ifndef RUTILE_LIB_NEIGHBOR_PAIR_VIEW_H_
#define RUTILE_LIB_NEIGHBOR_PAIR_VIEW_H_

#include <cstdint>

#include "absl/types/span.h"

namespace rutile {

// A view of the pairs of one structure of N atoms; it owns nothing. Pairs of atom i are p in [offset[i], offset[i +
// 1]), ordered as in NeighborList: by (j, shift). r_ij = r_j + shift . cell - r_i.
struct PairView {
  absl::Span<const int64_t> offset;  // [N + 1]
  const int32_t* j = nullptr;        // j[p] - first_atom is the neighbor's number in the structure
  const int16_t* shift = nullptr;    // shift[3p], shift[3p + 1], shift[3p + 2]: relative to positions as given
  int32_t first_atom = 0;

  int64_t num_atoms() const { return static_cast<int64_t>(offset.size()) - 1; }
  int64_t num_pairs() const { return offset.empty() ? 0 : offset.back() - offset.front(); }
};

// A view of unordered pairs of neighbors of the same atom, both within an angular cutoff; --angular=triplets loops over
// them. Triplets of atom i are t in [offset[i], offset[i + 1]): neighbors a[t] < b[t], counted from the atom's first
// pair.
struct TripletView {
  absl::Span<const int64_t> offset;  // [N + 1], or empty: none are cached
  const uint16_t* a = nullptr;
  const uint16_t* b = nullptr;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_PAIR_VIEW_H_
