// Filtered ranks of targets among all entities, for callers that hold LibTorch tensors. rank_counts.h does the work.

#ifndef RUTILE_LIB_KG_RANKING_H_
#define RUTILE_LIB_KG_RANKING_H_

#include <vector>

#include "absl/types/span.h"
#include "lib/kg/rank_counts.h"

namespace at {
class Tensor;
}

namespace rutile {

struct RankingOptions {
  int num_threads = 1;  // the result does not depend on it
};

// Scores are hidden [Q, d] times entities [N, d] transposed, plus bias [N] (undefined: none), fp32 or fp64 alike, on
// the CPU. ranks: of the targets of query 0, then of query 1, ... Takes about 1 MB of memory at any N.
std::vector<Rank> RankTargets(const at::Tensor& hidden, const at::Tensor& entities, const at::Tensor& bias,
                              absl::Span<const RankingQuery> queries, const RankingOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_KG_RANKING_H_
