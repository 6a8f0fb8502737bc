#include "lib/kge/training/distinct_queries.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace rutile {

std::vector<RankingQuery> DistinctQueries::Queries() const {
  std::vector<RankingQuery> queries;
  for (size_t q = 0; q < head.size(); ++q) queries.push_back({targets[q], known[q]});
  return queries;
}

DistinctQueries FindDistinct(const NamedTensors& batch) {
  const absl::Span<const int32_t> head = batch.At("head").values<int32_t>();
  const absl::Span<const int32_t> relation = batch.At("relation").values<int32_t>();
  const absl::Span<const int64_t> target_offset = batch.At("target_offset").values<int64_t>();
  const absl::Span<const int32_t> target = batch.At("target").values<int32_t>();
  const absl::Span<const int64_t> known_offset = batch.At("known_offset").values<int64_t>();
  const absl::Span<const int32_t> known = batch.At("known").values<int32_t>();
  std::vector<size_t> order(head.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::tie(head[a], relation[a], a) < std::tie(head[b], relation[b], b); });
  DistinctQueries queries;
  for (const size_t b : order) {
    if (queries.head.empty() || queries.head.back() != head[b] || queries.relation.back() != relation[b]) {
      queries.head.push_back(head[b]);
      queries.relation.push_back(relation[b]);
      queries.row.push_back(static_cast<int64_t>(b));
      queries.targets.emplace_back();
      queries.known.push_back(known.subspan(known_offset[b], known_offset[b + 1] - known_offset[b]));
    }
    queries.targets.back().insert(queries.targets.back().end(), target.begin() + target_offset[b],
                                  target.begin() + target_offset[b + 1]);
  }
  return queries;
}

}  // namespace rutile
