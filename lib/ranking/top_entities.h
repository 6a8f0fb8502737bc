// Finds the best k entities of each query in one sweep over all, without storing rows of scores.

#ifndef RUTILE_LIB_RANKING_TOP_ENTITIES_H_
#define RUTILE_LIB_RANKING_TOP_ENTITIES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {

// An entity and its score.
struct ScoredEntity {
  int32_t entity = 0;
  double score = 0;
};

// The best entities of one query.
struct TopEntities {
  std::vector<ScoredEntity> best;  // highest score first; of equals the lower id; NaN last
  double log_sum_exp = 0;          // over all entities, also those left out; for a softmax
};

// Collects the best entities while entities are added in parts, as to a RankCounter.
template <typename T>
class TopCollector {
 public:
  // query: [Q, dim]. left_out: [Q] ascending ids that are not among the best, or empty. among: [Q] the entities that
  // the best are taken from, null for all; or empty. The data of all spans must live as long as the collector.
  TopCollector(absl::Span<const T> query, int64_t dim, int64_t k, absl::Span<const absl::Span<const int32_t>> left_out,
               absl::Span<const EntitySet* const> among = {});

  // Adds entities first .. first + part.num - 1. Every entity must be added once, in ascending order.
  void Add(const ScoreTable<T>& part, int64_t first, ThreadPool* pool);

  // Returns the best entities of each query.
  std::vector<TopEntities> Finish();

 private:
  struct State {
    std::vector<ScoredEntity> heap;  // a heap with the worst of the best in front
    size_t cursor = 0;               // position in left_out
    double max = 0, sum = 0;         // sum of exp(score - max)
  };

  const absl::Span<const T> query_;
  const int64_t dim_;
  const size_t k_;
  const absl::Span<const absl::Span<const int32_t>> left_out_;
  const absl::Span<const EntitySet* const> among_;
  std::vector<State> states_;  // [Q]
};

extern template class TopCollector<float>;
extern template class TopCollector<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_TOP_ENTITIES_H_
