// Searches neighbors in small cells by comparing every atom with all images near the cell, nearly all of which are near
// the atom too.

#ifndef RUTILE_LIB_NEIGHBOR_IMAGE_SEARCH_H_
#define RUTILE_LIB_NEIGHBOR_IMAGE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "lib/neighbor/ghost_block.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/periodic_images.h"
#include "lib/neighbor/search_input.h"
#include "lib/structure/structure.h"

namespace rutile {

// The O(N^2) search behind NeighborSearch (kImages). Reuses its memory from call to call.
class ImageSearch {
 public:
  // Fills `list`. `input` comes from MakeSearchInput.
  absl::Status Compute(const Structure& structure, const SearchInput& input, double cutoff,
                       const NeighborOptions& options, NeighborList* list);

 private:
  PeriodicImages images_;
  GhostBlock block_;
  Candidates candidates_;
  std::vector<int64_t> place_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_IMAGE_SEARCH_H_
