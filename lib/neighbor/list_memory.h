// Sizes the arrays of a NeighborList while a search fills it.

#ifndef RUTILE_LIB_NEIGHBOR_LIST_MEMORY_H_
#define RUTILE_LIB_NEIGHBOR_LIST_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/neighbor/ghost_block.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {

// Returns how many atoms of a block are handled at a time, so that their candidates are still in the cache when the
// pairs are written.
inline int64_t AtomsAtATime(const GhostBlock& block) {
  constexpr int64_t kCandidates = 1 << 16;
  return std::max<int64_t>(1, kCandidates / (block.num_ghosts + 1));
}

// Sets the number of pairs. Successive lists differ little in size, and entries below the previous size are not cleared
// again.
inline void ResizeList(int64_t num_pairs, const NeighborOptions& options, NeighborList* list) {
  list->j.resize(num_pairs);
  list->shift.resize(options.shifts ? 3 * num_pairs : 0);
  for (std::vector<double>* const d : {&list->dx, &list->dy, &list->dz}) d->resize(options.vectors ? num_pairs : 0);
}

// Makes room for at least num_pairs pairs; never shrinks.
inline void GrowList(int64_t num_pairs, const NeighborOptions& options, NeighborList* list) {
  size_t room = list->j.size();
  if (options.shifts) room = std::min(room, list->shift.size() / 3);
  if (options.vectors) room = std::min({room, list->dx.size(), list->dy.size(), list->dz.size()});
  if (static_cast<int64_t>(room) < num_pairs) ResizeList(num_pairs, options, list);
}

// Returns pointers to the arrays of `list` that `options` ask for.
inline PairArrays ArraysOf(const NeighborOptions& options, NeighborList* list) {
  PairArrays pairs = {};
  pairs.j = list->j.data();
  if (options.shifts) pairs.shift = list->shift.data();
  if (options.vectors) {
    pairs.dx = list->dx.data();
    pairs.dy = list->dy.data();
    pairs.dz = list->dz.data();
  }
  pairs.nearest_squared = &list->nearest_squared;
  return pairs;
}

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_LIST_MEMORY_H_
