// Draws some of many numbers.

#ifndef RUTILE_LIB_BASE_RANDOM_SUBSET_H_
#define RUTILE_LIB_BASE_RANDOM_SUBSET_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"

namespace rutile {

// Returns `count` of 0 .. n-1, ascending; each set of so many is as likely. Time and memory grow with `count` alone.
// CHECK-fails unless 0 <= count <= n. Floyd's algorithm (J. Bentley and R. Floyd, Comm. ACM 30, 754 (1987)).
std::vector<int64_t> RandomSubset(int64_t n, int64_t count, RandomStream stream);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_RANDOM_SUBSET_H_
