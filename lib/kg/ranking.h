// Filtered ranks of targets among all entities, by counting: no scores are sorted or kept.

#ifndef RUTILE_LIB_KG_RANKING_H_
#define RUTILE_LIB_KG_RANKING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace at {
class Tensor;
}

namespace rutile {

// One distinct (head, relation): who is asked for, and who is left out of the comparison.
struct RankingQuery {
  absl::Span<const int32_t> targets;  // each is ranked by itself
  absl::Span<const int32_t> known;    // ascending; left out, but for the target itself
};

// How many entities that are not left out score higher than the target, and how many as high (itself not counted). A
// target whose score is NaN ranks last; others' NaN are below every number.
struct Rank {
  int64_t greater = 0;
  int64_t equal = 0;
  bool nan = false;

  int64_t optimistic() const { return greater + 1; }
  int64_t pessimistic() const { return greater + equal + 1; }
  double realistic() const { return 0.5 * static_cast<double>(optimistic() + pessimistic()); }
};

struct RankingOptions {
  int64_t max_bytes = int64_t{32} << 20;  // of scores at one time
};

// Scores are hidden [Q, d] times entities [N, d] transposed, plus bias [N] (undefined: none), fp32 or fp64 alike; the
// target's score is the one in the row that it is compared in. ranks: of the targets of query 0, then of query 1, ...
std::vector<Rank> RankTargets(const at::Tensor& hidden, const at::Tensor& entities, const at::Tensor& bias,
                              absl::Span<const RankingQuery> queries, const RankingOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_KG_RANKING_H_
