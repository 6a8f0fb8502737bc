// The median of numbers, which a few wild ones do not move.

#ifndef RUTILE_LIB_DATA_CHECK_MEDIAN_H_
#define RUTILE_LIB_DATA_CHECK_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rutile {

// Returns the upper median; 0 for no values. Values must not be NaN.
inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace rutile

#endif  // RUTILE_LIB_DATA_CHECK_MEDIAN_H_
