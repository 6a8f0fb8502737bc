// Computes the numbers that a parity plot shows, and chooses the points that it draws.

#ifndef RUTILE_LIB_PLOT_ERROR_SUMMARY_H_
#define RUTILE_LIB_PLOT_ERROR_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// Statistics of errors, in the unit of the errors.
struct ErrorSummary {
  double mean = 0;
  double rmse = 0;
  double mae = 0;
  double largest = 0;  // absolute value
};

ErrorSummary SummarizeErrors(absl::Span<const double> error);

// Returns the indices of at most max_points values to draw, ascending: one in fifty are the largest absolute errors,
// the others a random choice that depends only on the number of values. All indices if there are no more than that.
std::vector<int64_t> ChoosePoints(absl::Span<const double> error, int max_points);

// Values by group.
struct Grouping {
  std::vector<std::string> name;  // [G] largest group first; ties by name
  std::vector<int64_t> size;      // [G]
  std::vector<int> of;            // [n] group of each value, in [0, G)
};

// Groups values by name. If there are more than max_groups, the smallest ones become one, "N other groups", which is
// last. An empty `group` makes one group of n values without a name.
Grouping GroupByName(absl::Span<const std::string> group, int64_t n, int max_groups);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_ERROR_SUMMARY_H_
