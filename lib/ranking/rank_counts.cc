#include "lib/ranking/rank_counts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/logging.h"
#include "lib/ranking/score_kernel.h"

namespace rutile {
namespace {

constexpr int64_t kQueriesPerPiece = 64;

std::vector<int64_t> FirstTargets(absl::Span<const RankingQuery> queries) {
  std::vector<int64_t> first = {0};
  first.reserve(queries.size() + 1);
  for (const RankingQuery& query : queries) first.push_back(first.back() + static_cast<int64_t>(query.targets.size()));
  return first;
}

}  // namespace

void FinishRank(const RankingQuery& query, int32_t target, int64_t num_entities, bool score_is_nan, Rank* rank) {
  CHECK(target >= 0 && target < num_entities) << target << " of " << num_entities;
  const bool known = std::binary_search(query.known.begin(), query.known.end(), target);
  rank->candidates = num_entities - static_cast<int64_t>(query.known.size()) + (known ? 1 : 0);
  rank->nan = score_is_nan;
  if (score_is_nan) {
    rank->greater = rank->candidates - 1;
    rank->equal = 0;
  } else if (!known) {
    --rank->equal;
  }
}

template <typename T>
RankCounter<T>::RankCounter(absl::Span<const T> query, int64_t dim, absl::Span<const RankingQuery> queries,
                            std::vector<T> target_score)
    : query_(query),
      dim_(dim),
      queries_(queries),
      target_score_(std::move(target_score)),
      first_target_(FirstTargets(queries)),
      cursor_(queries.size()),
      ranks_(target_score_.size()) {
  CHECK(query_.size() == queries_.size() * dim) << query_.size() << " vs. " << queries_.size();
  CHECK(first_target_.back() == static_cast<int64_t>(target_score_.size()))
      << first_target_.back() << " vs. " << target_score_.size();
}

template <typename T>
void RankCounter<T>::Add(const ScoreTable<T>& part, int64_t first, ThreadPool* pool) {
  CHECK(part.dim == dim_) << part.dim << " vs. " << dim_;
  CHECK(first == num_entities_) << first << " vs. " << num_entities_;
  num_entities_ += part.num;
  std::vector<std::vector<T>> known_scores(pool->num_threads());
  SweepScores<T>(part, query_, pool, [&](int64_t q, int64_t begin, absl::Span<const T> scores, int worker) {
    const RankingQuery& query = queries_[q];
    const int64_t from = first + begin;
    const int64_t to = from + static_cast<int64_t>(scores.size());
    // Known entities are counted with all others, then once more alone, and subtracted.
    std::vector<T>& known = known_scores[worker];
    known.clear();
    int64_t& cursor = cursor_[q];
    for (; cursor < static_cast<int64_t>(query.known.size()) && query.known[cursor] < to; ++cursor) {
      known.push_back(scores[query.known[cursor] - from]);
    }
    for (size_t t = 0; t < query.targets.size(); ++t) {
      const T target = target_score_[first_target_[q] + t];
      const int64_t entity = query.targets[t];
      if (entity >= from && entity < to) {
        const T in_row = scores[entity - from];
        CHECK(in_row == target || (std::isnan(in_row) && std::isnan(target))) << in_row << " vs. " << target;
      }
      Rank& rank = ranks_[first_target_[q] + t];
      CountScores(scores.data(), static_cast<int64_t>(scores.size()), target, &rank.greater, &rank.equal);
      int64_t greater = 0, equal = 0;
      CountScores(known.data(), static_cast<int64_t>(known.size()), target, &greater, &equal);
      rank.greater -= greater;
      rank.equal -= equal;
    }
  });
}

template <typename T>
std::vector<Rank> RankCounter<T>::Finish() {
  for (size_t q = 0; q < queries_.size(); ++q) {
    const RankingQuery& query = queries_[q];
    CHECK(query.known.empty() || query.known.back() < num_entities_) << query.known.back() << " of " << num_entities_;
    for (size_t t = 0; t < query.targets.size(); ++t) {
      const int64_t i = first_target_[q] + static_cast<int64_t>(t);
      FinishRank(query, query.targets[t], num_entities_, std::isnan(target_score_[i]), &ranks_[i]);
    }
  }
  return std::move(ranks_);
}

template <typename T>
std::vector<Rank> CountRanks(const ScoreTable<T>& table, absl::Span<const T> hidden,
                             absl::Span<const RankingQuery> queries, ThreadPool* pool) {
  const std::vector<int64_t> first = FirstTargets(queries);
  std::vector<T> target_score(first.back());
  pool->For(static_cast<int64_t>(queries.size()), kQueriesPerPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t q = begin; q < end; ++q) {
      for (size_t t = 0; t < queries[q].targets.size(); ++t) {
        const int64_t entity = queries[q].targets[t];
        CHECK(entity >= 0 && entity < table.num) << entity << " of " << table.num;
        target_score[first[q] + t] = ScoreOne(hidden.data() + q * table.dim, table.entity.data() + entity * table.dim,
                                              table.dim, table.Bias(entity));
      }
    }
  });
  RankCounter<T> counter(hidden, table.dim, queries, std::move(target_score));
  counter.Add(table, 0, pool);
  return counter.Finish();
}

template class RankCounter<float>;
template class RankCounter<double>;
template std::vector<Rank> CountRanks<float>(const ScoreTable<float>&, absl::Span<const float>,
                                             absl::Span<const RankingQuery>, ThreadPool*);
template std::vector<Rank> CountRanks<double>(const ScoreTable<double>&, absl::Span<const double>,
                                              absl::Span<const RankingQuery>, ThreadPool*);

}  // namespace rutile
