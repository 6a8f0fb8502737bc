// Random subsets of training examples, on which a model is trained again to see what it owes to the others.
//
// A score of influence predicts how a prediction changes when examples are left out. The linear datamodeling score
// (datamodeling_score.h) compares that with models trained on many random subsets; this is how they are drawn.

#ifndef RUTILE_LIB_INFLUENCE_SUBSET_PLAN_H_
#define RUTILE_LIB_INFLUENCE_SUBSET_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

struct SubsetPlanOptions {
  int64_t num_subsets = 100;
  double kept = 0.5;  // share of the examples in each subset, above 0 and below 1
  uint64_t seed = 0;
};

// Draws subsets of n examples without replacement and returns them as [num_subsets, n], 1 for examples that are kept.
//
// stratum: [n] numbers from 0, or empty. Each stratum keeps its share, rounded down or up at random, so that the whole
// subset has round(kept n) examples.
// links: [n], or empty. The two entities that a triple connects, numbered from 0: each entity of the examples keeps one
// of them at least. For that, an example of the same stratum whose entities have others is given up; where there is
// none, the subset is larger by one.
//
// INVALID_ARGUMENT: no example, a share out of range, or one that keeps none or all of the examples.
absl::StatusOr<std::vector<uint8_t>> DrawSubsets(int64_t n, const SubsetPlanOptions& options,
                                                 absl::Span<const int64_t> stratum,
                                                 absl::Span<const std::array<int32_t, 2>> links);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_SUBSET_PLAN_H_
