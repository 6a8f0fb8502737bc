// Every atom against all images near the cell: for small cells, where nearly all of them are near the atom too.

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

class ImageSearch {
 public:
  // `frame` passed MakeSearchInput.
  absl::Status Compute(const Structure& structure, const SearchInput& frame, double cutoff,
                       const NeighborOptions& options, NeighborList* list);

 private:
  PeriodicImages images_;
  GhostBlock block_;
  Candidates candidates_;
  std::vector<int64_t> place_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_IMAGE_SEARCH_H_
