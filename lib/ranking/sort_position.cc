#include "lib/ranking/sort_position.h"

#include <algorithm>
#include <cmath>

#include "lib/base/logging.h"

namespace rutile {
namespace {

template <typename T>
float Probability(T score) {
  return 1 / (1 + std::exp(-static_cast<float>(score)));
}

bool Above(float a, float b) { return std::isnan(a) ? !std::isnan(b) : a > b; }
bool Same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

template <typename T>
std::vector<int64_t> SortPositions(const ScoreTable<T>& table, absl::Span<const T> hidden,
                                   absl::Span<const RankingQuery> queries, ThreadPool* pool) {
  std::vector<int64_t> first_target = {0};
  for (const RankingQuery& query : queries) {
    first_target.push_back(first_target.back() + static_cast<int64_t>(query.targets.size()));
  }
  std::vector<float> own(first_target.back());
  for (size_t q = 0; q < queries.size(); ++q) {
    for (size_t t = 0; t < queries[q].targets.size(); ++t) {
      const int64_t e = queries[q].targets[t];
      CHECK(e >= 0 && e < table.num) << e << " of " << table.num;
      own[first_target[q] + t] = Probability(ScoreOfRow(table.form, hidden.data() + q * table.dim,
                                                        table.entity.data() + e * table.dim, table.dim, table.Bias(e)));
    }
  }
  std::vector<int64_t> position(own.size(), 1);
  std::vector<std::vector<float>> scratch(pool->num_threads());
  SweepScores<T>(table, hidden, pool, [&](int64_t q, int64_t first, absl::Span<const T> scores, int worker) {
    const RankingQuery& query = queries[q];
    std::vector<float>& probability = scratch[worker];
    probability.assign(scores.size(), 0.0F);
    std::transform(scores.begin(), scores.end(), probability.begin(), Probability<T>);
    for (auto e = std::lower_bound(query.known.begin(), query.known.end(), first);
         e != query.known.end() && *e < first + static_cast<int64_t>(scores.size()); ++e) {
      probability[*e - first] = 0;
    }
    for (size_t t = 0; t < query.targets.size(); ++t) {
      const float p = own[first_target[q] + t];
      int64_t before = 0;
      for (size_t k = 0; k < probability.size(); ++k) {
        const int64_t e = first + static_cast<int64_t>(k);
        if (e == query.targets[t]) continue;
        before += Above(probability[k], p) || (Same(probability[k], p) && e < query.targets[t]) ? 1 : 0;
      }
      position[first_target[q] + t] += before;
    }
  });
  return position;
}

template std::vector<int64_t> SortPositions<float>(const ScoreTable<float>&, absl::Span<const float>,
                                                   absl::Span<const RankingQuery>, ThreadPool*);
template std::vector<int64_t> SortPositions<double>(const ScoreTable<double>&, absl::Span<const double>,
                                                    absl::Span<const RankingQuery>, ThreadPool*);

}  // namespace rutile
