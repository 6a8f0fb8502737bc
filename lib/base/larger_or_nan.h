// A maximum that does not hide NaN.

#ifndef RUTILE_LIB_BASE_LARGER_OR_NAN_H_
#define RUTILE_LIB_BASE_LARGER_OR_NAN_H_

#include <cmath>

namespace rutile {

// Returns the larger number, or NaN if either is NaN. std::max(largest, NaN) is `largest`, because a comparison with
// NaN is false, so that a table would show a finite largest error where an error is unknown.
inline double LargerOrNaN(double largest, double value) {
  return std::isnan(largest) || value <= largest ? largest : value;
}

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_LARGER_OR_NAN_H_
