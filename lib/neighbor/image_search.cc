#include "lib/neighbor/image_search.h"

#include <algorithm>
#include <limits>

#include "lib/neighbor/exact_pairs.h"
#include "lib/neighbor/list_memory.h"

namespace rutile {

absl::Status ImageSearch::Compute(const Structure& structure, const SearchInput& input, double cutoff,
                                  const NeighborOptions& options, NeighborList* list) {
  const int64_t num_atoms = structure.size();
  list->offset.resize(num_atoms + 1);
  list->offset[0] = 0;
  list->nearest_squared = std::numeric_limits<double>::infinity();
  if (num_atoms > 0) {
    MakePeriodicImages(structure, input, SearchRadius(cutoff), /*wrap_all=*/false, &images_);
    FindAllGhosts(images_, &block_);
  }
  int64_t num_pairs = 0;
  ClosePair close;
  const int64_t chunk = AtomsAtATime(block_);
  for (int64_t first = 0; first < num_atoms; first += chunk) {
    const int64_t last = std::min(num_atoms, first + chunk);
    FindCandidates(images_, &block_, first, last, &candidates_);
    GrowTo(last - first, &place_);
    int64_t most_pairs = num_pairs;
    for (int64_t q = first; q < last; ++q) most_pairs += candidates_.count[q - first];
    GrowList(most_pairs, options, list);
    const PairArrays pairs = ArraysOf(options, list);
    for (int64_t q = first; q < last;) {
      // Indices assume that all candidates are pairs; after an atom for which that is false, the following atoms get
      // new indices.
      int64_t place = num_pairs;
      for (int64_t k = q; k < last; ++k) {
        place_[k - first] = place;
        place += candidates_.count[k - first];
      }
      const int64_t done = WritePairs(images_, block_, candidates_, q, last, cutoff, place_.data(), pairs);
      for (; q < done; ++q) list->offset[q + 1] = num_pairs += candidates_.count[q - first];
      if (q == last) break;
      num_pairs += WritePairsExact(input, images_, block_, candidates_, q, cutoff, num_pairs, pairs, &close);
      list->offset[++q] = num_pairs;
      if (close.i >= 0) return TooNear(close.i, close.j, close.shift, close.squared_distance);
    }
  }
  ResizeList(num_pairs, options, list);
  return absl::OkStatus();
}

}  // namespace rutile
