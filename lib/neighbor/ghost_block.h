// The unit of work of the vectorized searches: a block of atoms, and the atom images ("ghosts") that may be near any of
// them.

#ifndef RUTILE_LIB_NEIGHBOR_GHOST_BLOCK_H_
#define RUTILE_LIB_NEIGHBOR_GHOST_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/neighbor/periodic_images.h"

namespace rutile {

// A block of atoms with its ghosts. Ghosts are ordered by (j, image), so that the pairs of every atom come out in the
// order of the list.
struct GhostBlock {
  int64_t num_atoms = 0, num_ghosts = 0;
  std::vector<int32_t> atom;      // [num_atoms] ascending
  std::vector<int32_t> self;      // [num_atoms] index of the ghost that is the atom itself
  std::vector<float> gx, gy, gz;  // [num_ghosts + kPadding], followed by kFarAway
  std::vector<int32_t> j, image;  // [num_ghosts]
  std::vector<int32_t> row;       // [num_ghosts] row in the table of shift vectors: image_row + wrap_row of j

  void ReserveGhosts(size_t n);
};

// Candidates of atoms first, first + 1, ... of a block: ghosts within the search radius, or farther by a rounding
// error. Those of atom first + q are ghost[begin[q]] to ghost[begin[q] + count[q] - 1], and up to 3 more entries can be
// read.
struct Candidates {
  int64_t first = 0;
  std::vector<uint32_t> ghost;
  std::vector<int64_t> begin, count;
};

// Output arrays of pairs: pointers to index 0 of a list.
struct PairArrays {
  int32_t* j;
  int16_t* shift;           // null if not wanted
  double *dx, *dy, *dz;     // null if not wanted
  double* nearest_squared;  // set to the minimum of its value and those of the new pairs
};

// A run of atoms [begin, end) in cell order, all shifted by one lattice image.
struct Run {
  int32_t begin, end, image;
};

// Atoms in cell order; j is the number in the structure. kPadding more entries are readable beyond the end.
struct CellOrder {
  std::vector<float> x, y, z;
  std::vector<int32_t> j;
};

// Fills `block` with all atoms of the structure and all ghosts near their bounding box.
void FindAllGhosts(const PeriodicImages& images, GhostBlock* block);

// Finds the ghosts near the bounding box of block->atom, in the order of the runs, and sets all their fields but `row`
// and `self`. The block must have room for all atoms in the runs.
void FindGhostsInRuns(const PeriodicImages& images, const CellOrder& order, absl::Span<const Run> runs,
                      GhostBlock* block);

// Sets count[q] to the number of pairs of atom q of the block, or to -1 if some ghosts are too near to `cutoff` to tell
// whether they are pairs. The ghosts may be in any order. (Writes the padding behind the last ghost.)
void CountPairs(const PeriodicImages& images, GhostBlock* block, double cutoff, int64_t* count);

// Finds the candidates of atoms [first, last) of the block. (Temporarily moves each atom's own ghost away from it.)
void FindCandidates(const PeriodicImages& images, GhostBlock* block, int64_t first, int64_t last,
                    Candidates* candidates);

// Writes the pairs of atoms [begin, end) of the block from their candidates; those of atom q start at place[q -
// candidates.first]. Stops at the first atom with a candidate that is not a valid pair and returns that atom, whose
// output is then unspecified; otherwise returns end. WritePairsExact in exact_pairs.h handles any atom. Always returns
// `begin` on instruction sets without 256-bit vectors, and without a table of shift vectors.
int64_t WritePairs(const PeriodicImages& images, const GhostBlock& block, const Candidates& candidates, int64_t begin,
                   int64_t end, double cutoff, const int64_t* place, const PairArrays& pairs);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_GHOST_BLOCK_H_
