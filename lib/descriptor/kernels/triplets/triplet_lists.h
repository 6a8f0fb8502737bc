// Builds the lists that the kernels of listed_triplets.h run over, from those of a file or a cache.

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_LISTS_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_LISTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/descriptor/descriptor_derivatives.h"
#include "lib/descriptor/kernels/chebyshev_tables.h"
#include "lib/descriptor/kernels/triplets/listed_triplets.h"

namespace rutile {

constexpr int64_t kTripletBlock = 8;  // a multiple of the lanes of every vector

// Finds near neighbors and triplets of a structure: sets all of `state` except slope, weight4 and the last element of
// each unit4.
template <typename T>
void PlaceTriplets(const ChebyshevTables<T>& tables, const StructureGeometry& geometry, ListedState<T>* state);

// Returns state->all, or the part of it that `sampled` (empty for all atoms) needs; valid until other atoms are
// sampled.
template <typename T>
const TripletPart<T>& SelectTriplets(absl::Span<const uint8_t> sampled, ListedState<T>* state);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_TRIPLETS_TRIPLET_LISTS_H_
