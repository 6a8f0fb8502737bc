// Selects the part of a structure that products need when forces are wanted on some atoms only.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"

namespace rutile {

// Returns the neighbors of state->all for which the center or the neighbor is sampled, regrouped. A sampled center has
// all of its neighbors, another center its sampled ones (with triplets, also the neighbors with which these form
// triplets), and centers without any are left out. sampled: [N], or empty for all. The selection is made anew only when
// the sampled atoms change; it is valid until then, and until Features.
template <typename T>
InterleavedView<T> SelectSampled(const ChebyshevTables<T>& tables, absl::Span<const uint8_t> sampled,
                                 InterleavedNeighbors<T>* state);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_
