// Searches neighbors in large structures with any cell: divides the atoms into blocks, and compares each block with the
// atom images near it.

#ifndef RUTILE_LIB_NEIGHBOR_CELL_LIST_H_
#define RUTILE_LIB_NEIGHBOR_CELL_LIST_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/neighbor/exact_pairs.h"
#include "lib/neighbor/ghost_block.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/periodic_images.h"
#include "lib/neighbor/search_input.h"
#include "lib/structure/structure.h"

namespace rutile {

// The O(N) search behind NeighborSearch (kCells). Reuses its memory from call to call.
class CellList {
 public:
  // Fills `list`. `input` comes from MakeSearchInput.
  absl::Status Compute(const Structure& structure, const SearchInput& input, double cutoff,
                       const NeighborOptions& options, NeighborList* list);

 private:
  // Divides the lattice cell, or the extent of the atoms along directions that are not periodic, into bins.
  void ChooseBins(const Structure& structure, const SearchInput& input, double reach);
  // Sorts the atoms by bin.
  void SortAtoms(const Structure& structure, const SearchInput& input);
  // Finds the bins within the search radius of bin (b[0], b[1], b[2]), as runs of atoms.
  void FindRuns(const std::array<int32_t, 3>& b);
  // Fills block_ with the atoms of a bin and with ghosts in the order of the runs. Returns false for an empty bin.
  bool MakeBlock(int64_t bin);
  // Sets list->offset. Blocks are not in the order of the atoms, so all offsets must be known before a pair is written.
  void CountAllPairs(const SearchInput& input, double cutoff, NeighborList* list);
  // Sorts the ghosts of block_ by (j, image) and sets their remaining fields.
  void SortGhosts();
  // Writes the pairs of block_ into `pairs`.
  void WriteBlock(const SearchInput& input, double cutoff, const PairArrays& pairs, const NeighborList& list,
                  ClosePair* close);

  std::array<bool, 3> pbc_ = {};
  std::array<int32_t, 3> bins_ = {};   // along each lattice vector
  std::array<int32_t, 3> reach_ = {};  // in bins
  std::array<double, 3> origin_ = {};  // fractional coordinate of the first bin's edge
  std::array<double, 3> scale_ = {};   // bins for each unit of fractional coordinate
  std::vector<int32_t> bin_of_;        // [N]
  std::vector<int32_t> bin_begin_;     // [bins + 1] in order_
  CellOrder order_;
  std::vector<Run> runs_;

  PeriodicImages images_;
  GhostBlock block_;
  std::vector<uint64_t> keys_, key_scratch_;
  Candidates candidates_;
  std::vector<int64_t> place_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_CELL_LIST_H_
