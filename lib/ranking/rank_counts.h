// Filtered ranks of targets among all entities, by counting: no scores are sorted, masked or kept. Free of LibTorch.

#ifndef RUTILE_LIB_RANKING_RANK_COUNTS_H_
#define RUTILE_LIB_RANKING_RANK_COUNTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "lib/base/parallel_for.h"
#include "lib/matrix/bf16_products.h"
#include "lib/ranking/rounded_sweep.h"
#include "lib/ranking/score_sweep.h"

namespace rutile {

// One distinct (head, relation): who is asked for, and who is left out of the comparison.
struct RankingQuery {
  absl::Span<const int32_t> targets;  // each is ranked by itself
  absl::Span<const int32_t> known;    // ascending, each once; left out, but for the target itself
};

// How many entities that are not left out score higher than the target, and how many as high (itself not counted). A
// target whose score is NaN ranks last; others' NaN are below every number.
struct Rank {
  int64_t greater = 0;
  int64_t equal = 0;
  int64_t candidates = 0;  // entities that are not left out, the target among them
  bool nan = false;

  int64_t optimistic() const { return greater + 1; }
  int64_t pessimistic() const { return greater + equal + 1; }
  double realistic() const { return 0.5 * static_cast<double>(optimistic() + pessimistic()); }
};

// Completes *rank, whose counts are over all entities but the known ones, a target that is not known among them, as
// equal to itself.
void FinishRank(const RankingQuery& query, int32_t target, int64_t num_entities, bool score_is_nan, Rank* rank);

// Counts over entities that come in parts: rows of an embedding table at once, or the hidden vectors of all heads, of
// which only a part fits in memory.
template <typename T>
class RankCounter {
 public:
  // query: [Q, dim], what every entity's row is multiplied with. target_score: of the targets of query 0, then of query
  // 1, ...: made by score_kernel.h of the same numbers as the entity's row, so that they have the same bits. What the
  // spans refer to must live as long as the counter.
  RankCounter(absl::Span<const T> query, int64_t dim, absl::Span<const RankingQuery> queries,
              std::vector<T> target_score);

  // Entities first .. first + part.num - 1; every entity once, in ascending order. On AMX most are decided by scores of
  // factors rounded to bfloat16, whose error is bounded, and only those too near to a target by the scores of
  // score_kernel.h: the counts are the same.
  void Add(const ScoreTable<T>& part, int64_t first, ThreadPool* pool);

  // By rounded scores of that form, or not: for tests.
  void set_rounding(std::optional<Bf16Form> form) { rounding_ = form; }

  // After all entities were added, in the order of target_score.
  std::vector<Rank> Finish();

 private:
  // Of query q, against entities from `from` on, of which known[cursor] is the first. Returns the cursor behind them.
  int64_t CountExact(int64_t q, int64_t from, absl::Span<const T> scores, int64_t cursor, std::vector<T>* scratch);
  void AddExact(const ScoreTable<T>& part, int64_t first, ThreadPool* pool);
  void AddRounded(const ScoreTable<T>& part, int64_t first, ThreadPool* pool);
  // Of the queries that are listed.
  void AddExactOf(absl::Span<const int64_t> listed, const ScoreTable<T>& part, int64_t first, ThreadPool* pool);
  struct Undecided;
  // False where too much is undecided: then nothing was counted.
  bool CountRounded(int64_t q, int64_t first, const RoundedScores& scores, Undecided* scratch);

  const absl::Span<const T> query_;
  const int64_t dim_;
  const absl::Span<const RankingQuery> queries_;
  const std::vector<T> target_score_;
  std::vector<int64_t> first_target_;  // [Q + 1] where the targets of a query begin
  std::vector<int64_t> cursor_;        // [Q] known entities that have been passed
  std::vector<Rank> ranks_;
  int64_t num_entities_ = 0;
  std::optional<Bf16Form> rounding_;
};

extern template class RankCounter<float>;
extern template class RankCounter<double>;

// Of a whole table. hidden: [Q, dim]. ranks: of the targets of query 0, then of query 1, ... The result does not depend
// on the number of threads.
template <typename T>
std::vector<Rank> CountRanks(const ScoreTable<T>& table, absl::Span<const T> hidden,
                             absl::Span<const RankingQuery> queries, ThreadPool* pool);

extern template std::vector<Rank> CountRanks<float>(const ScoreTable<float>&, absl::Span<const float>,
                                                    absl::Span<const RankingQuery>, ThreadPool*);
extern template std::vector<Rank> CountRanks<double>(const ScoreTable<double>&, absl::Span<const double>,
                                                     absl::Span<const RankingQuery>, ThreadPool*);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANK_COUNTS_H_
