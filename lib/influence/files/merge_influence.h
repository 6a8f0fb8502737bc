// Merges the influence of several shares of the training examples.

#ifndef RUTILE_LIB_INFLUENCE_FILES_MERGE_INFLUENCE_H_
#define RUTILE_LIB_INFLUENCE_FILES_MERGE_INFLUENCE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/influence/tracin.h"
#include "lib/influence/tracin_options.h"

namespace rutile {

// Merges the influence of disjoint shares of the training examples on the same tests; the result is as if it was
// computed at once. top_k is that of the shares and of the result. INVALID_ARGUMENT naming the shares by their numbers
// from 1 on if tests, parts or the requested results differ, or a training example is in two shares.
absl::StatusOr<Influence> MergeInfluence(absl::Span<const Influence* const> shares, InfluenceRanking ranking,
                                         int64_t top_k);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_FILES_MERGE_INFLUENCE_H_
