// Pairs of one atom from its candidates, one at a time: for what the vectorized kernel hands back.

#ifndef RUTILE_LIB_NEIGHBOR_EXACT_PAIRS_H_
#define RUTILE_LIB_NEIGHBOR_EXACT_PAIRS_H_

#include <cstdint>

#include "lib/neighbor/ghost_block.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/periodic_images.h"
#include "lib/neighbor/search_input.h"

namespace rutile {

// Two atoms nearer than kSmallestDistance; of several the first in the order of the list.
struct ClosePair {
  int64_t i = -1;  // none
  int64_t j;
  int16_t shift[3];
  double squared_distance;
};

// As WritePairs for the one atom q, leaving out candidates beyond the cutoff: returns how many pairs were written.
// Stops at a pair that is too near and puts it into `close`, unless that already holds one of an earlier atom.
int64_t WritePairsExact(const SearchInput& frame, const PeriodicImages& images, const GhostBlock& block,
                        const Candidates& candidates, int64_t q, double cutoff, int64_t place, const PairArrays& pairs,
                        ClosePair* close);

// The number of pairs of atom q that WritePairsExact would write if none were too near.
int64_t CountPairsExact(const SearchInput& frame, const PeriodicImages& images, const GhostBlock& block,
                        const Candidates& candidates, int64_t q, double cutoff);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_EXACT_PAIRS_H_
