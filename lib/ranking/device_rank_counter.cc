#include "lib/ranking/device_rank_counter.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/ranking/scores/score_form.h"

namespace rutile {

template <typename T>
void SetEntities(const ScoreTable<T>& table, int64_t first, CountingDevice* device) {
  CHECK(table.dim > 0);
  CHECK(!IsDistance(table.form)) << "distances have no kernels for GPUs";
  CHECK(static_cast<int64_t>(table.entity.size()) == table.num * table.dim) << table.entity.size() << ", " << table.num;
  CHECK(table.bias.empty() || static_cast<int64_t>(table.bias.size()) == table.num) << table.bias.size();
  device->counts<T>()->SetEntities(table.entity.data(), table.bias.empty() ? nullptr : table.bias.data(), first,
                                   table.num, table.dim);
}

template <typename T>
DeviceRankCounter<T>::DeviceRankCounter(CountingDevice* device, absl::Span<const T> query,
                                        absl::Span<const RankingQuery> queries, absl::Span<const int32_t> row)
    : counts_(device->counts<T>()), queries_(queries), known_offset_({0}) {
  std::vector<int64_t> offset = {0};
  for (const RankingQuery& q : queries) {
    offset.push_back(offset.back() + static_cast<int64_t>(q.targets.size()));
    known_.insert(known_.end(), q.known.begin(), q.known.end());
    known_offset_.push_back(static_cast<int64_t>(known_.size()));
  }
  CHECK(offset.back() == static_cast<int64_t>(row.size())) << offset.back() << " vs. " << row.size();
  counts_->SetQueries(query.data(), static_cast<int64_t>(queries.size()), offset.data());
  counts_->ScoreTargets(row.data());
}

template <typename T>
void DeviceRankCounter<T>::Add(int64_t num) {
  num_entities_ += num;
  counts_->Count(known_offset_.data(), known_.data());
}

template <typename T>
absl::StatusOr<std::vector<Rank>> DeviceRankCounter<T>::Finish() {
  std::vector<T> score;
  std::vector<int64_t> greater, equal;
  counts_->Read(&score, &greater, &equal);
  if (const std::string error = counts_->error(); !error.empty()) return absl::UnavailableError(error);
  std::vector<Rank> ranks(score.size());
  size_t i = 0;
  for (const RankingQuery& query : queries_) {
    CHECK(query.known.empty() || query.known.back() < num_entities_) << query.known.back() << " of " << num_entities_;
    for (const int32_t target : query.targets) {
      ranks[i].greater = greater[i];
      ranks[i].equal = equal[i];
      FinishRank(query, target, num_entities_, std::isnan(score[i]), &ranks[i]);
      // A target is equal to itself, unless its row is another one than that which was added.
      CHECK(ranks[i].equal >= 0) << target << ": " << score[i];
      ++i;
    }
  }
  return ranks;
}

template <typename T>
absl::StatusOr<std::vector<Rank>> CountRanksOn(CountingDevice* device, int64_t num, absl::Span<const T> hidden,
                                               absl::Span<const RankingQuery> queries) {
  std::vector<int32_t> row;
  for (const RankingQuery& query : queries) {
    for (const int32_t target : query.targets) {
      CHECK(target >= 0 && target < num) << target << " of " << num;
      row.push_back(target);
    }
  }
  DeviceRankCounter<T> counter(device, hidden, queries, row);
  counter.Add(num);
  return counter.Finish();
}

template class DeviceRankCounter<float>;
template class DeviceRankCounter<double>;
template void SetEntities<float>(const ScoreTable<float>&, int64_t, CountingDevice*);
template void SetEntities<double>(const ScoreTable<double>&, int64_t, CountingDevice*);
template absl::StatusOr<std::vector<Rank>> CountRanksOn<float>(CountingDevice*, int64_t, absl::Span<const float>,
                                                               absl::Span<const RankingQuery>);
template absl::StatusOr<std::vector<Rank>> CountRanksOn<double>(CountingDevice*, int64_t, absl::Span<const double>,
                                                                absl::Span<const RankingQuery>);

}  // namespace rutile
