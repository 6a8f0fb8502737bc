// Computes shares of a number, for fractions that users give as decimals, such as a share of the batches of an epoch.

#ifndef RUTILE_LIB_BASE_SHARE_H_
#define RUTILE_LIB_BASE_SHARE_H_

#include <cmath>
#include <cstdint>
#include <limits>

namespace rutile {

// Returns floor(fraction * n) for the decimal number that the user wrote: 0.29 of 100 is 29, although the double
// nearest to 0.29 gives 28.999999999999996. n: 0 to 2^49; fraction: 0 to 1.
inline int64_t ShareOf(double fraction, int64_t n) {
  // The double of a decimal is off by half an epsilon, and the product by as much again.
  constexpr double kRounding = 1 + 4 * std::numeric_limits<double>::epsilon();
  return static_cast<int64_t>(std::floor(fraction * static_cast<double>(n) * kRounding));
}

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_SHARE_H_
