// Sorts integers of few bits, faster than a comparison sort from some tens of keys on.

#ifndef RUTILE_LIB_NEIGHBOR_RADIX_SORT_H_
#define RUTILE_LIB_NEIGHBOR_RADIX_SORT_H_

#include <cstdint>
#include <vector>

namespace rutile {

// Sorts the first n keys, all below 2^bits, in ascending order; keys after them become undefined. `scratch` is reusable
// memory, which may be swapped with that of `keys`.
void RadixSort(int bits, int64_t n, std::vector<uint64_t>* keys, std::vector<uint64_t>* scratch);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_RADIX_SORT_H_
