// The memory of a NeighborList while it is being filled.

#ifndef RUTILE_LIB_NEIGHBOR_LIST_MEMORY_H_
#define RUTILE_LIB_NEIGHBOR_LIST_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/neighbor/near_block.h"
#include "lib/neighbor/neighbor_list.h"

namespace rutile {

// Atoms of a block whose candidates are found, then written, while they are in the cache.
inline int64_t AtomsAtATime(const NearBlock& block) {
  constexpr int64_t kCandidates = 1 << 16;
  return std::max<int64_t>(1, kCandidates / (block.num_ghosts + 1));
}

// Lists of one structure after another differ little in size: what stays below the last size is not cleared again.
inline void ResizeList(int64_t num_pairs, bool shifts, NeighborList* list) {
  list->j.resize(num_pairs);
  list->shift.resize(shifts ? 3 * num_pairs : 0);
  list->dx.resize(num_pairs);
  list->dy.resize(num_pairs);
  list->dz.resize(num_pairs);
}

inline void GrowList(int64_t num_pairs, bool shifts, NeighborList* list) {
  size_t room = std::min({list->j.size(), list->dx.size(), list->dy.size(), list->dz.size()});
  if (shifts) room = std::min(room, list->shift.size() / 3);
  if (static_cast<int64_t>(room) < num_pairs) ResizeList(num_pairs, shifts, list);
}

inline PairArrays ArraysOf(NeighborList* list, bool shifts) {
  return {list->j.data(), shifts ? list->shift.data() : nullptr, list->dx.data(), list->dy.data(), list->dz.data()};
}

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_LIST_MEMORY_H_
