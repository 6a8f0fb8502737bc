// Turns cached pairs back into the list that a search would have given.

#ifndef RUTILE_LIB_NEIGHBOR_PAIR_VECTORS_H_
#define RUTILE_LIB_NEIGHBOR_PAIR_VECTORS_H_

#include "absl/types/span.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/neighbor/pair_view.h"
#include "lib/structure/structure.h"

namespace rutile {

// Fills `list` (without shifts), reusing its memory, with the pairs up to `cutoff` (Angstrom; at most the cutoff of the
// pairs). The result equals that of NeighborSearch with this cutoff bit for bit. position: [3N] Angstrom, as given.
void ListFromPairs(absl::Span<const double> position, const Matrix3& cell, const PairView& pairs, double cutoff,
                   NeighborList* list);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_PAIR_VECTORS_H_
