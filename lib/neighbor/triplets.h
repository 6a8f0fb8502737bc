// Finds pairs of neighbors of the same atom, for --angular=triplets.

#ifndef RUTILE_LIB_NEIGHBOR_TRIPLETS_H_
#define RUTILE_LIB_NEIGHBOR_TRIPLETS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"

namespace rutile {

// The arrays that a TripletView (pair_view.h) points into. Triplets of an atom are ordered by (a, b).
struct TripletList {
  std::vector<int64_t> offset;  // [N + 1]
  std::vector<uint16_t> a, b;   // [T]
  int64_t num_triplets() const { return static_cast<int64_t>(a.size()); }
};

// Finds all pairs of neighbors a < b of the same atom, both with r <= cutoff (Angstrom), reusing the memory of
// `triplets`. INVALID_ARGUMENT, naming the atom, if a neighbor's number does not fit into uint16.
absl::Status FindTriplets(const NeighborList& list, double cutoff, TripletList* triplets);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_TRIPLETS_H_
