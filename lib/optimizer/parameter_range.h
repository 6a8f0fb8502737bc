// Ranges of the flat tensor of parameters.

#ifndef RUTILE_LIB_OPTIMIZER_PARAMETER_RANGE_H_
#define RUTILE_LIB_OPTIMIZER_PARAMETER_RANGE_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"

namespace rutile {

// A range of parameters that one optimizer updates.
struct ParameterRange {
  int64_t begin = 0;
  int64_t size = 0;
  bool decays = true;  // false: weight decay does not apply
  int64_t row = 1;     // numbers in a row of the table that it is part of; 1: no table, or rows do not matter
};

inline int64_t TotalSize(absl::Span<const ParameterRange> ranges) {
  int64_t size = 0;
  for (const ParameterRange& range : ranges) size += range.size;
  return size;
}

// Calls body(range, at) for each range. `at` is the position of the range in the optimizer's state, where the ranges
// are stored one after the other.
template <class Body>
void ForEachRange(absl::Span<const ParameterRange> ranges, const Body& body) {
  int64_t at = 0;
  for (const ParameterRange& range : ranges) {
    body(range, at);
    at += range.size;
  }
}

// Calls body(range, at) for the parts of the ranges that lie in [begin, end).
template <class Body>
void ForEachRange(absl::Span<const ParameterRange> ranges, int64_t begin, int64_t end, const Body& body) {
  ForEachRange(ranges, [&](const ParameterRange& range, int64_t at) {
    const int64_t first = std::max(range.begin, begin), last = std::min(range.begin + range.size, end);
    if (first < last) body(ParameterRange{first, last - first, range.decays, range.row}, at + first - range.begin);
  });
}

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_PARAMETER_RANGE_H_
