// Chooses the algorithm for each structure.

#include <memory>

#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/neighbor/cell_list.h"
#include "lib/neighbor/image_search.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/search_input.h"

namespace rutile {
namespace {

// Number of atoms from which cells are used. Measured at the density of TiO2 with cutoffs of 4 to 8 Angstrom: both
// algorithms are equally fast at 160 to 250 atoms.
constexpr int64_t kFewAtoms = 200;

}  // namespace

struct NeighborSearch::Scratch {
  double cutoff;
  NeighborOptions options;
  SearchInput input;
  ImageSearch images;
  CellList cells;
};

NeighborSearch::NeighborSearch(double cutoff, NeighborOptions options) : scratch_(std::make_unique<Scratch>()) {
  CHECK_GT(cutoff, 0);
  scratch_->cutoff = cutoff;
  scratch_->options = options;
}

NeighborSearch::~NeighborSearch() = default;
NeighborSearch::NeighborSearch(NeighborSearch&&) noexcept = default;

absl::Status NeighborSearch::Compute(const Structure& structure, NeighborList* list) {
  Scratch& s = *scratch_;
  RETURN_IF_ERROR(MakeSearchInput(structure, SearchRadius(s.cutoff), &s.input));
  const bool cells = s.options.algorithm == NeighborAlgorithm::kCells ||
                     (s.options.algorithm == NeighborAlgorithm::kFastest && structure.size() > kFewAtoms);
  if (cells) return s.cells.Compute(structure, s.input, s.cutoff, s.options, list);
  return s.images.Compute(structure, s.input, s.cutoff, s.options, list);
}

}  // namespace rutile
