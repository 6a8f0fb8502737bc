// The part of a structure that products need when forces are wanted on some atoms only.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"

namespace rutile {

// The neighbors of state->all among which either the center or the neighbor is sampled, in groups of their own: a
// sampled center keeps all of its neighbors, another one those that are sampled (with triplets, also what they make
// triplets with), and centers without any are left out.
// sampled: [N], or empty for all. Made again only when the sampled atoms change; valid until then, and until Features.
template <typename T>
InterleavedView<T> SelectSampled(const ChebyshevTables<T>& tables, absl::Span<const uint8_t> sampled,
                                 InterleavedNeighbors<T>* state);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_
