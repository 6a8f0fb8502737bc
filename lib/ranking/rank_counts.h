// Computes filtered ranks of targets among all entities by counting: no scores are sorted, masked or stored.
// Independent of LibTorch.

#ifndef RUTILE_LIB_RANKING_RANK_COUNTS_H_
#define RUTILE_LIB_RANKING_RANK_COUNTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/scores/rounded_sweep.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {

// One distinct (head, relation): the targets to rank, and the entities to leave out.
struct RankingQuery {
  absl::Span<const int32_t> targets;  // each is ranked independently
  absl::Span<const int32_t> known;    // ascending and distinct; left out, except for the target itself
  const EntitySet* among = nullptr;   // if not null, targets are also ranked among these
};

// The rank of a target as counts of the entities that score higher and of those that score equal (without the target
// itself), both without entities left out. A target whose score is NaN ranks last; NaN of other entities is below every
// number.
struct Rank {
  int64_t greater = 0;
  int64_t equal = 0;
  int64_t candidates = 0;  // entities that are not left out, including the target
  bool nan = false;

  int64_t optimistic() const { return greater + 1; }
  int64_t pessimistic() const { return greater + equal + 1; }
  double realistic() const { return 0.5 * static_cast<double>(optimistic() + pessimistic()); }
};

// The ranks of targets among all entities, and among those of RankingQuery::among, without the known ones. A target
// competes whether or not it is one of `among`; there is no rank (zeros) for a query without `among`.
struct RanksAmong {
  std::vector<Rank> all, among;  // among is empty if no query has such entities
};

// Completes *rank, whose counts so far are over all entities except the known ones, and include a target that is not
// known as equal to itself.
void FinishRank(const RankingQuery& query, int32_t target, int64_t num_entities, bool score_is_nan, Rank* rank);

// Counts over entities that are added in parts: all rows of an embedding table at once, or the hidden vectors of all
// heads, of which only a part fits in memory.
template <typename T>
class RankCounter {
 public:
  // query: [Q, dim], multiplied with every entity's row. target_score: scores of the targets of query 0, then of query
  // 1, ...; they must be computed by score_kernel.h from the same numbers as the entity's row, so that they have the
  // same bits. The data of all spans must live as long as the counter.
  RankCounter(absl::Span<const T> query, int64_t dim, absl::Span<const RankingQuery> queries,
              std::vector<T> target_score);

  // Adds entities first .. first + part.num - 1; every entity must be added once, in ascending order. On AMX most
  // comparisons are decided by scores of factors rounded to bfloat16, whose error is bounded; only scores too near to a
  // target are computed by score_kernel.h. The counts are the same.
  void Add(const ScoreTable<T>& part, int64_t first, ThreadPool* pool);

  // Forces rounded scores of that form, or none; for tests.
  void set_rounding(std::optional<Bf16Form> form) { rounding_ = form; }

  // Returns the ranks, in the order of target_score, after all entities were added.
  RanksAmong Finish();

 private:
  // Counts for query q against entities from `from` on; known[cursor] is the first known entity among them. Returns the
  // cursor behind them.
  int64_t CountExact(int64_t q, int64_t from, absl::Span<const T> scores, int64_t cursor, std::vector<T>* scratch);
  void AddExact(const ScoreTable<T>& part, int64_t first, ThreadPool* pool);
  void AddRounded(const ScoreTable<T>& part, int64_t first, ThreadPool* pool);
  // Counts exactly for the listed queries.
  void AddExactOf(absl::Span<const int64_t> listed, const ScoreTable<T>& part, int64_t first, ThreadPool* pool);
  struct Undecided;
  // Counts by rounded scores. Returns false, and counts nothing, if too many comparisons are undecided.
  bool CountRounded(int64_t q, int64_t first, const RoundedScores& scores, Undecided* scratch);
  // Does this for one target by `scores` [block.n], of which those that do not count are kLeastScore.
  bool CountRoundedTarget(int64_t q, float target, const RoundedScores& block, const float* scores, Undecided* scratch,
                          Rank* rank);
  void FinishAmong(int64_t q);

  const absl::Span<const T> query_;
  const int64_t dim_;
  const absl::Span<const RankingQuery> queries_;
  const std::vector<T> target_score_;
  std::vector<int64_t> first_target_;  // [Q + 1] index of the first target of a query
  std::vector<int64_t> cursor_;        // [Q] number of known entities that were passed
  std::vector<Rank> ranks_;
  std::vector<Rank> among_;  // as long, or empty if no query is ranked among some
  int64_t num_entities_ = 0;
  std::optional<Bf16Form> rounding_;
};

extern template class RankCounter<float>;
extern template class RankCounter<double>;

// Counts ranks against a complete table. hidden: [Q, dim]. Returns the ranks of the targets of query 0, then of query
// 1, ... The result does not depend on the number of threads.
template <typename T>
RanksAmong CountRanksAmong(const ScoreTable<T>& table, absl::Span<const T> hidden,
                           absl::Span<const RankingQuery> queries, ThreadPool* pool);

extern template RanksAmong CountRanksAmong<float>(const ScoreTable<float>&, absl::Span<const float>,
                                                  absl::Span<const RankingQuery>, ThreadPool*);
extern template RanksAmong CountRanksAmong<double>(const ScoreTable<double>&, absl::Span<const double>,
                                                   absl::Span<const RankingQuery>, ThreadPool*);

// Does the same, and returns the ranks among all entities.
template <typename T>
std::vector<Rank> CountRanks(const ScoreTable<T>& table, absl::Span<const T> hidden,
                             absl::Span<const RankingQuery> queries, ThreadPool* pool) {
  return CountRanksAmong<T>(table, hidden, queries, pool).all;
}

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANK_COUNTS_H_
