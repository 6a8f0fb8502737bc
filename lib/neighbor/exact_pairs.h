// Exact scalar fallback for candidates that the SIMD kernel cannot decide, one atom and one candidate at a time.

#ifndef RUTILE_LIB_NEIGHBOR_EXACT_PAIRS_H_
#define RUTILE_LIB_NEIGHBOR_EXACT_PAIRS_H_

#include <cstdint>

#include "lib/neighbor/ghost_block.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/periodic_images.h"
#include "lib/neighbor/search_input.h"

namespace rutile {

// Two atoms nearer than kSmallestDistance, which is an error. Of several such pairs, the first in the order of the
// list.
struct ClosePair {
  int64_t i = -1;  // -1: there is no such pair
  int64_t j;
  int16_t shift[3];
  double squared_distance;
};

// Writes the pairs of atom q of the block, from index `place` on, and returns their number; candidates beyond the
// cutoff are left out. Stops at a pair that is too near and stores it in `close`, unless `close` already names one of
// an earlier atom.
int64_t WritePairsExact(const SearchInput& input, const PeriodicImages& images, const GhostBlock& block,
                        const Candidates& candidates, int64_t q, double cutoff, int64_t place, const PairArrays& pairs,
                        ClosePair* close);

// Returns the number of pairs of atom q that WritePairsExact would write if none were too near.
int64_t CountPairsExact(const SearchInput& input, const PeriodicImages& images, const GhostBlock& block,
                        const Candidates& candidates, int64_t q, double cutoff);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_EXACT_PAIRS_H_
