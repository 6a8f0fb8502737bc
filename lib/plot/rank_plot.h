// Draws how well a knowledge-graph model ranks by how often training has seen what is asked for.

#ifndef RUTILE_LIB_PLOT_RANK_PLOT_H_
#define RUTILE_LIB_PLOT_RANK_PLOT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

// A relation: the number of its training triples, at least 0, the number of queries, above 0, and their mean reciprocal
// rank, 0 to 1.
struct RelationRanks {
  double triples = 0, queries = 0, mrr = 0;
};

// Draws the mean reciprocal rank of each relation over the number of its training triples, on a logarithmic axis that
// has room for 0 at its left. The area of a point is its share of the queries. Of more than 1000 relations those with
// most queries are drawn, and the caption says so. Returns an SVG file. Errors: INVALID_ARGUMENT if no relation has
// finite numbers, otherwise those of RunGnuplot (NOT_FOUND: gnuplot not installed).
absl::StatusOr<std::string> RelationPlot(absl::Span<const RelationRanks> relations);

// Mean reciprocal ranks of queries by the group of their answers, for one side. NaN: the side has no query in the
// group.
struct GroupRanks {
  std::string name;         // "tails"
  std::vector<double> mrr;  // [groups]
};

// Draws the mean reciprocal rank of each group as bars, those of the sides beside each other, and below it the number
// of queries. groups: what the groups are called, in their order; share: [groups] of all queries, 0 to 1. CHECK-fails
// if lengths disagree. Returns an SVG file. Errors: INVALID_ARGUMENT if there is no group or no finite value, otherwise
// those of RunGnuplot.
absl::StatusOr<std::string> FrequencyPlot(absl::Span<const std::string> groups, absl::Span<const GroupRanks> sides,
                                          absl::Span<const double> share);

}  // namespace rutile

#endif  // RUTILE_LIB_PLOT_RANK_PLOT_H_
