// Counts filtered ranks on a GPU, as rank_counts.h does on the CPU.
//
// Scores have the bits of score_kernel.h on CPUs with fused multiply-adds (AVX2 and later), so ranks are the same to
// the bit. On other CPUs score_kernel.h also rounds products, and nearly equal scores may change places.

#ifndef RUTILE_LIB_RANKING_DEVICE_RANK_COUNTER_H_
#define RUTILE_LIB_RANKING_DEVICE_RANK_COUNTER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/ranking/gpu/counting_device.h"
#include "lib/ranking/rank_counts.h"
#include "lib/ranking/scores/score_sweep.h"

namespace rutile {

// Puts entities first .. first + table.num - 1 on the device, where they stay until others take their place.
template <typename T>
void SetEntities(const ScoreTable<T>& table, int64_t first, CountingDevice* device);

// Counts over entities that are added in parts, from what SetEntities put on the device.
template <typename T>
class DeviceRankCounter {
 public:
  // query: [Q, dim], multiplied with every entity's row. row: for the targets of query 0, then of query 1, ... the
  // places of their rows among the entities that are set now, which gives the scores to compare with. A target must
  // have the same row when it is added. The data of `queries` must live as long as the counter.
  DeviceRankCounter(CountingDevice* device, absl::Span<const T> query, absl::Span<const RankingQuery> queries,
                    absl::Span<const int32_t> row);

  // Adds the entities that are set now, `num`. Every entity must be added once.
  void Add(int64_t num);

  // Returns the ranks, in the order of the targets, after all entities were added. UNAVAILABLE: the device has failed
  // since it was made, for lack of memory, for example.
  absl::StatusOr<std::vector<Rank>> Finish();

 private:
  DeviceCounts<T>* const counts_;
  const absl::Span<const RankingQuery> queries_;
  std::vector<int64_t> known_offset_;  // [Q + 1]
  std::vector<int32_t> known_;
  int64_t num_entities_ = 0;
};

extern template class DeviceRankCounter<float>;
extern template class DeviceRankCounter<double>;
extern template void SetEntities<float>(const ScoreTable<float>&, int64_t, CountingDevice*);
extern template void SetEntities<double>(const ScoreTable<double>&, int64_t, CountingDevice*);

// Counts ranks against a complete table, which is set on the device from entity 0 on and has `num` rows.
template <typename T>
absl::StatusOr<std::vector<Rank>> CountRanksOn(CountingDevice* device, int64_t num, absl::Span<const T> hidden,
                                               absl::Span<const RankingQuery> queries);

extern template absl::StatusOr<std::vector<Rank>> CountRanksOn<float>(CountingDevice*, int64_t, absl::Span<const float>,
                                                                      absl::Span<const RankingQuery>);
extern template absl::StatusOr<std::vector<Rank>> CountRanksOn<double>(CountingDevice*, int64_t,
                                                                       absl::Span<const double>,
                                                                       absl::Span<const RankingQuery>);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_DEVICE_RANK_COUNTER_H_
