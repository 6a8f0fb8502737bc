#include "lib/ranking/rank_counts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "lib/base/logging.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/scores/rounded_sweep.h"
#include "lib/ranking/scores/score_bounds.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/ranking/scores/score_kernel.h"

namespace rutile {
namespace {

constexpr int64_t kQueriesPerPiece = 64;
// If more than 1 / kUndecidedPart of a block's entities are undecided, all of them are scored exactly, which takes as
// long.
constexpr int64_t kUndecidedPart = 6;
// Share of such blocks above which rounded scores do not pay.
constexpr double kTooMany = 0.3;
// Number of extra entries that CountDecided needs.
constexpr int64_t kSpare = 16;
// Smallest numbers of queries and dimensions for which rounded scores pay.
constexpr int64_t kLeastQueries = 64, kLeastDim = 128;
// Rounded scores of entities that do not count are set below any other; a target of similar size would make the bounds
// meaningless.
constexpr float kLeastScore = -1e38f, kLargestTarget = 1e30f;

std::vector<int64_t> FirstTargets(absl::Span<const RankingQuery> queries) {
  std::vector<int64_t> first = {0};
  first.reserve(queries.size() + 1);
  for (const RankingQuery& query : queries) first.push_back(first.back() + static_cast<int64_t>(query.targets.size()));
  return first;
}

// Completes a rank of which the counts are there. counted: they include the target as equal to itself.
void Complete(int64_t candidates, bool counted, bool score_is_nan, Rank* rank) {
  rank->candidates = candidates;
  rank->nan = score_is_nan;
  if (score_is_nan) {
    rank->greater = candidates - 1;
    rank->equal = 0;
  } else if (counted) {
    --rank->equal;
  }
}

}  // namespace

void FinishRank(const RankingQuery& query, int32_t target, int64_t num_entities, bool score_is_nan, Rank* rank) {
  CHECK(target >= 0 && target < num_entities) << target << " of " << num_entities;
  const bool known = std::binary_search(query.known.begin(), query.known.end(), target);
  Complete(num_entities - static_cast<int64_t>(query.known.size()) + (known ? 1 : 0), !known, score_is_nan, rank);
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
  const bool pays = static_cast<int64_t>(queries.size()) >= kLeastQueries && dim >= kLeastDim;
  if (std::any_of(queries.begin(), queries.end(), [](const RankingQuery& q) { return q.among != nullptr; })) {
    among_.resize(ranks_.size());
  }
  if (std::is_same_v<T, float> && pays && RoundedSweepIsFast()) rounding_ = Bf16Form::kAmx;
}

// Known entities are counted with all others, then counted separately and subtracted.
template <typename T>
int64_t RankCounter<T>::CountExact(int64_t q, int64_t from, absl::Span<const T> scores, int64_t cursor,
                                   std::vector<T>* scratch) {
  const RankingQuery& query = queries_[q];
  const int64_t to = from + static_cast<int64_t>(scores.size());
  const int64_t first_known = cursor;
  scratch->clear();
  for (; cursor < static_cast<int64_t>(query.known.size()) && query.known[cursor] < to; ++cursor) {
    scratch->push_back(scores[query.known[cursor] - from]);
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
    CountScores(scratch->data(), static_cast<int64_t>(scratch->size()), target, &greater, &equal);
    rank.greater -= greater;
    rank.equal -= equal;
  }
  if (query.among == nullptr) return cursor;
  // NaN is neither above a target nor equal.
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  scratch->resize(scores.size());
  KeepScores(scores.data(), static_cast<int64_t>(scores.size()), query.among->bits(), from, kNan, scratch->data());
  for (int64_t k = first_known; k < cursor; ++k) (*scratch)[query.known[k] - from] = kNan;
  for (size_t t = 0; t < query.targets.size(); ++t) {
    Rank& rank = among_[first_target_[q] + t];
    CountScores(scratch->data(), static_cast<int64_t>(scratch->size()), target_score_[first_target_[q] + t],
                &rank.greater, &rank.equal);
  }
  return cursor;
}

template <typename T>
void RankCounter<T>::AddExact(const ScoreTable<T>& part, int64_t first, ThreadPool* pool) {
  std::vector<std::vector<T>> scratch(pool->num_threads());
  SweepScores<T>(part, query_, pool, [&](int64_t q, int64_t begin, absl::Span<const T> scores, int worker) {
    cursor_[q] = CountExact(q, first + begin, scores, cursor_[q], &scratch[worker]);
  });
}

template <typename T>
void RankCounter<T>::AddExactOf(absl::Span<const int64_t> listed, const ScoreTable<T>& part, int64_t first,
                                ThreadPool* pool) {
  std::vector<T> rows(listed.size() * dim_);
  for (size_t i = 0; i < listed.size(); ++i) std::copy_n(&query_[listed[i] * dim_], dim_, &rows[i * dim_]);
  std::vector<std::vector<T>> scratch(pool->num_threads());
  SweepScores<T>(part, rows, pool, [&](int64_t i, int64_t begin, absl::Span<const T> scores, int worker) {
    const absl::Span<const int32_t> known = queries_[listed[i]].known;
    const auto next = std::lower_bound(known.begin(), known.end(), first + begin);
    CountExact(listed[i], first + begin, scores, next - known.begin(), &scratch[worker]);
  });
}

// Scratch memory of one thread.
template <typename T>
struct RankCounter<T>::Undecided {
  std::vector<Rank> counts, among;  // one per target of a query
  std::vector<int32_t> entities;    // numbers of entities in the block, then in the part
  std::vector<float> scores;
  std::vector<float> kept;                        // the scores of a block that are ranked among
  std::vector<std::pair<int64_t, int64_t>> left;  // undecided: (the block's first entity in the part, query)
};

template <typename T>
bool RankCounter<T>::CountRoundedTarget(int64_t q, float target, const RoundedScores& of, const float* scores,
                                        Undecided* scratch, Rank* rank) {
  if constexpr (std::is_same_v<T, float>) {
    const BoundedBlock& block = of.block;
    const float* const hidden = &query_[q * dim_];
    scratch->entities.resize(block.n + kSpare);
    int32_t* const entities = scratch->entities.data();
    int64_t count = CountDecided(block, scores, of.bound, target, &rank->greater, entities);
    if (count > std::max<int64_t>(1, block.n / kUndecidedPart)) return false;
    // An entity that does not count is undecided if its bias is not finite.
    count = std::remove_if(entities, entities + count, [&](int32_t k) { return scores[k] == kLeastScore; }) - entities;
    count = CountDecidedByProducts(block, hidden, of.bound, target, count, &rank->greater, entities);
    scratch->scores.resize(count);
    ScoreSome(hidden, block.rows, dim_, block.bias, entities, count, scratch->scores.data());
    CountScores(scratch->scores.data(), count, target, &rank->greater, &rank->equal);
    return true;
  }
  return false;
}

template <typename T>
bool RankCounter<T>::CountRounded(int64_t q, int64_t first, const RoundedScores& scores, Undecided* scratch) {
  const RankingQuery& query = queries_[q];
  const int64_t from = first + scores.first, to = from + scores.block.n;
  int64_t& cursor = cursor_[q];
  for (; cursor < static_cast<int64_t>(query.known.size()) && query.known[cursor] < to; ++cursor) {
    scores.scores[query.known[cursor] - from] = kLeastScore;
  }
  if (query.among != nullptr) {
    scratch->kept.resize(scores.block.n);
    KeepScores(scores.scores, scores.block.n, query.among->bits(), from, kLeastScore, scratch->kept.data());
  }
  scratch->counts.assign(query.targets.size(), Rank());
  scratch->among.assign(query.targets.size(), Rank());
  for (size_t t = 0; t < query.targets.size(); ++t) {
    const auto target = static_cast<float>(target_score_[first_target_[q] + t]);
    if (!(std::abs(target) < kLargestTarget)) return false;
    if (!CountRoundedTarget(q, target, scores, scores.scores, scratch, &scratch->counts[t])) return false;
    if (query.among == nullptr) continue;
    if (!CountRoundedTarget(q, target, scores, scratch->kept.data(), scratch, &scratch->among[t])) return false;
  }
  const auto add = [](const Rank& counts, Rank* rank) {
    rank->greater += counts.greater;
    rank->equal += counts.equal;
  };
  for (size_t t = 0; t < query.targets.size(); ++t) {
    add(scratch->counts[t], &ranks_[first_target_[q] + t]);
    if (query.among != nullptr) add(scratch->among[t], &among_[first_target_[q] + t]);
  }
  return true;
}

template <typename T>
void RankCounter<T>::AddRounded(const ScoreTable<T>& part, int64_t first, ThreadPool* pool) {
  if constexpr (std::is_same_v<T, float>) {
    RoundedSweep sweep(part, query_, *rounding_, pool);
    std::vector<Undecided> scratch(pool->num_threads());
    const auto rest_of = [&part, this](int64_t begin, int64_t end) {
      ScoreTable<T> table = part;
      table.num = end - begin;
      table.entity = part.entity.subspan(begin * dim_, table.num * dim_);
      if (!part.bias.empty()) table.bias = part.bias.subspan(begin, table.num);
      return table;
    };
    for (int64_t begin = 0; begin < part.num; begin += RoundedSweep::kEntities) {
      sweep.Visit(begin, [&](int64_t q, const RoundedScores& scores, int worker) {
        if (!CountRounded(q, first, scores, &scratch[worker])) scratch[worker].left.emplace_back(scores.first, q);
      });
      std::vector<std::pair<int64_t, int64_t>> left;
      for (Undecided& of_thread : scratch) {
        left.insert(left.end(), of_thread.left.begin(), of_thread.left.end());
        of_thread.left.clear();
      }
      std::sort(left.begin(), left.end());
      const int64_t end = std::min(part.num, begin + RoundedSweep::kEntities);
      std::vector<int64_t> listed;
      for (size_t i = 0; i < left.size(); i += listed.size()) {
        listed.clear();
        for (size_t k = i; k < left.size() && left[k].first == left[i].first; ++k) listed.push_back(left[k].second);
        const int64_t block_end = std::min(end, left[i].first + RoundedSweep::kBlock);
        AddExactOf(listed, rest_of(left[i].first, block_end), first + left[i].first, pool);
      }
      const int64_t blocks = (end - begin + RoundedSweep::kBlock - 1) / RoundedSweep::kBlock;
      const auto all = static_cast<double>(blocks) * static_cast<double>(queries_.size());
      if (static_cast<double>(left.size()) > kTooMany * all && end < part.num) {
        return AddExact(rest_of(end, part.num), first + end, pool);
      }
    }
  }
}

template <typename T>
void RankCounter<T>::Add(const ScoreTable<T>& part, int64_t first, ThreadPool* pool) {
  CHECK(part.dim == dim_) << part.dim << " vs. " << dim_;
  CHECK(first == num_entities_) << first << " vs. " << num_entities_;
  num_entities_ += part.num;
  rounding_.has_value() && !IsDistance(part.form) ? AddRounded(part, first, pool) : AddExact(part, first, pool);
}

template <typename T>
void RankCounter<T>::FinishAmong(int64_t q) {
  const RankingQuery& query = queries_[q];
  int64_t num = query.among->size();  // what is left without the known ones
  for (const int32_t entity : query.known) num -= query.among->Has(entity) ? 1 : 0;
  for (size_t t = 0; t < query.targets.size(); ++t) {
    const int64_t i = first_target_[q] + static_cast<int64_t>(t);
    const int32_t target = query.targets[t];
    const bool counted =
        query.among->Has(target) && !std::binary_search(query.known.begin(), query.known.end(), target);
    Complete(num + (counted ? 0 : 1), counted, std::isnan(target_score_[i]), &among_[i]);
  }
}

template <typename T>
RanksAmong RankCounter<T>::Finish() {
  for (size_t q = 0; q < queries_.size(); ++q) {
    const RankingQuery& query = queries_[q];
    CHECK(query.known.empty() || query.known.back() < num_entities_) << query.known.back() << " of " << num_entities_;
    for (size_t t = 0; t < query.targets.size(); ++t) {
      const int64_t i = first_target_[q] + static_cast<int64_t>(t);
      FinishRank(query, query.targets[t], num_entities_, std::isnan(target_score_[i]), &ranks_[i]);
    }
    if (query.among != nullptr) FinishAmong(static_cast<int64_t>(q));
  }
  return {std::move(ranks_), std::move(among_)};
}

template <typename T>
RanksAmong CountRanksAmong(const ScoreTable<T>& table, absl::Span<const T> hidden,
                           absl::Span<const RankingQuery> queries, ThreadPool* pool) {
  const std::vector<int64_t> first = FirstTargets(queries);
  std::vector<T> target_score(first.back());
  pool->For(static_cast<int64_t>(queries.size()), kQueriesPerPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t q = begin; q < end; ++q) {
      for (size_t t = 0; t < queries[q].targets.size(); ++t) {
        const int64_t entity = queries[q].targets[t];
        CHECK(entity >= 0 && entity < table.num) << entity << " of " << table.num;
        target_score[first[q] + t] =
            ScoreOfRow(table.form, hidden.data() + q * table.dim, table.entity.data() + entity * table.dim, table.dim,
                       table.Bias(entity));
      }
    }
  });
  RankCounter<T> counter(hidden, table.dim, queries, std::move(target_score));
  counter.Add(table, 0, pool);
  return counter.Finish();
}

template class RankCounter<float>;
template class RankCounter<double>;
template RanksAmong CountRanksAmong<float>(const ScoreTable<float>&, absl::Span<const float>,
                                           absl::Span<const RankingQuery>, ThreadPool*);
template RanksAmong CountRanksAmong<double>(const ScoreTable<double>&, absl::Span<const double>,
                                            absl::Span<const RankingQuery>, ThreadPool*);

}  // namespace rutile
