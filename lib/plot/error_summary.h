// What a parity plot says in numbers, and which of its points are worth drawing.

#ifndef RUTILE_LIB_PLOT_ERROR_SUMMARY_H_
#define RUTILE_LIB_PLOT_ERROR_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// Of errors in whatever unit they have.
struct ErrorSummary {
  double mean = 0;
  double rmse = 0;
  double mae = 0;
  double largest = 0;  // absolute value
};

ErrorSummary SummarizeErrors(absl::Span<const double> error);

// Indices of at most max_points values, ascending: one in fifty of them the largest absolute errors, the others a
// random choice that depends on nothing but the number of values. All indices when there are no more than that.
std::vector<int64_t> ChoosePoints(absl::Span<const double> error, int max_points);

struct Grouping {
  std::vector<std::string> name;  // [G] by size, the largest first; ties by name
  std::vector<int64_t> size;      // [G]
  std::vector<int> of;            // [n] in [0, G)
};

// Groups by name; where there are more than max_groups, the smallest ones become one, "N other groups", which stands
// last. An empty `group` makes one group without a name, of n values.
Grouping GroupByName(absl::Span<const std::string> group, int64_t n, int max_groups);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_ERROR_SUMMARY_H_
