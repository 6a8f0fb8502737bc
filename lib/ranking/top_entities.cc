#include "lib/ranking/top_entities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/base/logging.h"

namespace rutile {
namespace {

bool Better(const ScoredEntity& a, const ScoredEntity& b) {
  const bool a_nan = std::isnan(a.score), b_nan = std::isnan(b.score);
  if (a_nan != b_nan) return b_nan;
  if (!a_nan && a.score != b.score) return a.score > b.score;
  return a.entity < b.entity;
}

}  // namespace

template <typename T>
TopCollector<T>::TopCollector(absl::Span<const T> query, int64_t dim, int64_t k,
                              absl::Span<const absl::Span<const int32_t>> left_out,
                              absl::Span<const EntitySet* const> among)
    : query_(query),
      dim_(dim),
      k_(static_cast<size_t>(k)),
      left_out_(left_out),
      among_(among),
      states_(query.size() / dim, {{}, 0, -std::numeric_limits<double>::infinity(), 0}) {
  CHECK(k > 0) << k;
  CHECK(among.empty() || among.size() == states_.size()) << among.size() << " vs. " << states_.size();
  CHECK(left_out.empty() || left_out.size() == states_.size()) << left_out.size() << " vs. " << states_.size();
}

template <typename T>
void TopCollector<T>::Add(const ScoreTable<T>& part, int64_t first, ThreadPool* pool) {
  CHECK(part.dim == dim_) << part.dim << " vs. " << dim_;
  SweepScores<T>(part, query_, pool, [&](int64_t q, int64_t begin, absl::Span<const T> scores, int) {
    State& state = states_[q];
    const absl::Span<const int32_t> left_out = left_out_.empty() ? absl::Span<const int32_t>() : left_out_[q];
    const EntitySet* const among = among_.empty() ? nullptr : among_[q];
    double block_max = state.max;
    for (const T score : scores) block_max = score > block_max ? score : block_max;
    if (block_max > state.max) {
      state.sum *= std::exp(state.max - block_max);
      state.max = block_max;
    }
    for (size_t i = 0; i < scores.size(); ++i) {
      const ScoredEntity candidate = {static_cast<int32_t>(first + begin + static_cast<int64_t>(i)), scores[i]};
      state.sum += std::exp(candidate.score - state.max);
      if (state.cursor < left_out.size() && left_out[state.cursor] == candidate.entity) {
        ++state.cursor;
        continue;
      }
      if (among != nullptr && !among->Has(candidate.entity)) continue;
      if (state.heap.size() == k_) {
        if (!Better(candidate, state.heap.front())) continue;
        std::pop_heap(state.heap.begin(), state.heap.end(), Better);
        state.heap.pop_back();
      }
      state.heap.push_back(candidate);
      std::push_heap(state.heap.begin(), state.heap.end(), Better);
    }
  });
}

template <typename T>
std::vector<TopEntities> TopCollector<T>::Finish() {
  std::vector<TopEntities> top(states_.size());
  for (size_t q = 0; q < states_.size(); ++q) {
    top[q].best = std::move(states_[q].heap);
    std::sort(top[q].best.begin(), top[q].best.end(), Better);
    top[q].log_sum_exp = states_[q].max + std::log(states_[q].sum);
  }
  return top;
}

template class TopCollector<float>;
template class TopCollector<double>;

}  // namespace rutile
