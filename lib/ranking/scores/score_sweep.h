// Computes scores of many queries against all entities block by block, without storing them: the memory does not depend
// on the number of entities.

#ifndef RUTILE_LIB_RANKING_SCORES_SCORE_SWEEP_H_
#define RUTILE_LIB_RANKING_SCORES_SCORE_SWEEP_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/scores/distance_kernel.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/ranking/scores/score_kernel.h"

namespace rutile {

// The entities: row e of `entity` [num, dim], and bias[e] (empty: none).
template <typename T>
struct ScoreTable {
  absl::Span<const T> entity;
  absl::Span<const T> bias;
  int64_t num = 0;
  int64_t dim = 0;
  ScoreForm form = ScoreForm::kDot;

  T Bias(int64_t e) const { return bias.empty() ? T{0} : bias[e]; }
};

// Returns the score of a query's vector [dim] with a row [dim], with the bits that SweepScores gives.
template <typename T>
T ScoreOfRow(ScoreForm form, const T* hidden, const T* row, int64_t dim, T bias) {
  return IsDistance(form) ? DistanceOne(form, hidden, row, dim, bias) : ScoreOne(hidden, row, dim, bias);
}

// Calls visit(q, first, scores, worker) for each query of hidden [Q, dim] and each block of entities. scores[k] is
// that of hidden q with entity first + k, computed by score_kernel.h or distance_kernel.h, and valid during the call.
// One query is visited by one thread at a time, its blocks in ascending order; worker < pool.num_threads() selects
// scratch space. Takes about 1 MB, and 100 KB for each thread (more if dim is above 8000).
template <typename T>
void SweepScores(const ScoreTable<T>& table, absl::Span<const T> hidden, ThreadPool* pool,
                 const std::function<void(int64_t q, int64_t first, absl::Span<const T> scores, int worker)>& visit);

extern template void SweepScores<float>(const ScoreTable<float>&, absl::Span<const float>, ThreadPool*,
                                        const std::function<void(int64_t, int64_t, absl::Span<const float>, int)>&);
extern template void SweepScores<double>(const ScoreTable<double>&, absl::Span<const double>, ThreadPool*,
                                         const std::function<void(int64_t, int64_t, absl::Span<const double>, int)>&);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORES_SCORE_SWEEP_H_
