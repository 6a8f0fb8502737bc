#include "lib/kge/training/device_ranks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// Scores that are compared with targets at once; each target has a copy of its row.
constexpr int64_t kMostScores = 64 << 20;

at::Tensor ToDevice(std::vector<int64_t>& index, const at::Tensor& like) {
  return at::from_blob(index.data(), {static_cast<int64_t>(index.size())}, at::kLong).to(like.device());
}

}  // namespace

std::vector<Rank> CountRanksOnDevice(const at::Tensor& scores, absl::Span<const int64_t> row,
                                     absl::Span<const RankingQuery> queries) {
  CHECK(scores.is_contiguous() && scores.dim() == 2);
  CHECK_EQ(row.size(), queries.size());
  const int64_t num_entities = scores.size(1);
  std::vector<int64_t> target_row, target, known;  // the latter two in the flat scores
  for (size_t q = 0; q < queries.size(); ++q) {
    for (const int32_t entity : queries[q].targets) {
      target_row.push_back(row[q]);
      target.push_back(row[q] * num_entities + entity);
    }
    for (const int32_t entity : queries[q].known) known.push_back(row[q] * num_entities + entity);
  }
  const auto num_targets = static_cast<int64_t>(target.size());
  const at::Tensor rows = ToDevice(target_row, scores), flat = scores.view({-1});
  const at::Tensor own = flat.index_select(0, ToDevice(target, scores)).unsqueeze(1);
  // NaN is neither above nor equal to any score.
  at::Tensor(flat).index_fill_(0, ToDevice(known, scores), std::numeric_limits<double>::quiet_NaN());
  const at::Tensor counts = at::empty({2, num_targets}, rows.options());
  const int64_t most = std::max<int64_t>(1, kMostScores / num_entities);
  for (int64_t begin = 0; begin < num_targets; begin += most) {
    const int64_t end = std::min(begin + most, num_targets);
    const at::Tensor others = scores.index_select(0, rows.slice(0, begin, end));
    counts[0].slice(0, begin, end).copy_(others.gt(own.slice(0, begin, end)).sum(1));
    counts[1].slice(0, begin, end).copy_(others.eq(own.slice(0, begin, end)).sum(1));
  }
  const at::Tensor count = counts.cpu(), score = own.to(at::kCPU, at::kDouble);
  std::vector<Rank> ranks(num_targets);
  int64_t i = 0;
  for (const RankingQuery& query : queries) {
    for (const int32_t entity : query.targets) {
      ranks[i].greater = count.data_ptr<int64_t>()[i];
      ranks[i].equal = count.data_ptr<int64_t>()[num_targets + i];
      FinishRank(query, entity, num_entities, std::isnan(score.data_ptr<double>()[i]), &ranks[i]);
      ++i;
    }
  }
  return ranks;
}

}  // namespace rutile
