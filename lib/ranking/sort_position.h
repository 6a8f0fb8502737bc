// Computes ranks as positions in a sorted list of probabilities: the convention of ConvE's original code, for
// comparison.

#ifndef RUTILE_LIB_RANKING_SORT_POSITION_H_
#define RUTILE_LIB_RANKING_SORT_POSITION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/rank_counts.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {

// Returns the positions (from 1) of the targets of query 0, then of query 1, ... in descending order of sigmoid(score)
// in fp32, where known entities other than the target have probability 0. The original sort leaves the order of equals
// open; here the lower id is first. NaN is before every number.
template <typename T>
std::vector<int64_t> SortPositions(const ScoreTable<T>& table, absl::Span<const T> hidden,
                                   absl::Span<const RankingQuery> queries, ThreadPool* pool);

extern template std::vector<int64_t> SortPositions<float>(const ScoreTable<float>&, absl::Span<const float>,
                                                          absl::Span<const RankingQuery>, ThreadPool*);
extern template std::vector<int64_t> SortPositions<double>(const ScoreTable<double>&, absl::Span<const double>,
                                                           absl::Span<const RankingQuery>, ThreadPool*);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SORT_POSITION_H_
