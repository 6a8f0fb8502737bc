// The part of a structure that products need when forces are wanted on some atoms only.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/interleaved_neighbors.h"

namespace rutile {

// The neighbours of state->all among which either the centre or the neighbour is sampled, in groups of their own: a
// sampled centre keeps all of its neighbours, another one those that are sampled (with triplets, also what they make
// triplets with), and centres without any are left out.
// sampled: [N], or empty for all. Made again only when the sampled atoms change; valid until then, and until Features.
template <typename T>
LaneView<T> SelectSampled(const ChebyshevTables<T>& tables, absl::Span<const uint8_t> sampled, LaneState<T>* state);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_NEIGHBOR_SELECTION_H_
