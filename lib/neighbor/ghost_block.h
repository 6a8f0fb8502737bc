// A block of atoms and the atom images that may be near any of them: what the vectorized kernels work on.

#ifndef RUTILE_LIB_NEIGHBOR_GHOST_BLOCK_H_
#define RUTILE_LIB_NEIGHBOR_GHOST_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/neighbor/periodic_images.h"

namespace rutile {

// Atom images, called ghosts here, are ordered by (j, image), so that the pairs of every atom come out in order.
struct GhostBlock {
  int64_t num_atoms = 0, num_ghosts = 0;
  std::vector<int32_t> atom;      // [num_atoms] ascending
  std::vector<int32_t> self;      // [num_atoms] the ghost that is the atom itself
  std::vector<float> gx, gy, gz;  // [num_ghosts + kPadding], followed by kFarAway
  std::vector<int32_t> j, image;  // [num_ghosts]
  std::vector<int32_t> row;       // [num_ghosts] of the table of shift vectors: image_row + wrap_row of j

  void ReserveGhosts(size_t n);
};

// Candidates of atoms first, first + 1, ... of a block: ghosts within reach, or a rounding error farther. Those of
// first + q are ghost[begin[q]] to ghost[begin[q] + count[q] - 1], and can be read up to 3 beyond.
struct Candidates {
  int64_t first = 0;
  std::vector<uint32_t> ghost;
  std::vector<int64_t> begin, count;
};

// Where pairs go: pointers to place 0 of a list.
struct PairArrays {
  int32_t* j;
  int16_t* shift;           // null if not wanted
  double *dx, *dy, *dz;     // null if not wanted
  double* nearest_squared;  // lowered to the nearest pair's
};

// Atoms [begin, end) in the order of the cells, seen in one image.
struct Run {
  int32_t begin, end, image;
};

// Atoms in the order of the cells: j is the number in the structure. With kPadding readable beyond the end.
struct CellOrder {
  std::vector<float> x, y, z;
  std::vector<int32_t> j;
};

// Fills `block` with all atoms, and all ghosts near the box around them.
void FindAllGhosts(const PeriodicImages& images, GhostBlock* block);

// Sets all but `row` and `self` for the ghosts near the box around block->atom, in the order of the runs. The block
// must have room for all atoms in the runs.
void FindGhostsInRuns(const PeriodicImages& images, const CellOrder& order, absl::Span<const Run> runs,
                      GhostBlock* block);

// count[q] = number of candidates of atom q of the block, or -1 if some are too near to `cutoff` to tell whether they
// are pairs. Needs no order. (Writes what follows the last ghost.)
void CountPairs(const PeriodicImages& images, GhostBlock* block, double cutoff, int64_t* count);

// Finds the candidates of atoms [first, last) of the block. (Moves the ghost of an atom away from it for a moment.)
void FindCandidates(const PeriodicImages& images, GhostBlock* block, int64_t first, int64_t last,
                    Candidates* candidates);

// Writes the pairs of atoms [begin, end) of the block, whose candidates are given, those of atom q to place[q -
// candidates.first] and on. Stops at the first atom with a candidate that is not a valid pair, and returns it (nonsense
// may be in its place), else returns end: WritePairsExact in careful_pairs.h takes any atom. Always returns `begin`
// on instruction sets without 256-bit vectors, and without a table of shift vectors.
int64_t WritePairs(const PeriodicImages& images, const GhostBlock& block, const Candidates& candidates, int64_t begin,
                   int64_t end, double cutoff, const int64_t* place, const PairArrays& pairs);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_GHOST_BLOCK_H_
