// Filtered ranks of targets, counted where scores are: on a GPU, by LibTorch's operations.

#ifndef RUTILE_LIB_KGE_TRAINING_DEVICE_RANKS_H_
#define RUTILE_LIB_KGE_TRAINING_DEVICE_RANKS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/ranking/rank_counts.h"

namespace rutile {

// As CountRanks. scores: [B, entities], contiguous, F32 or F64; overwritten. row: [Q], of the scores of each query, no
// two the same.
std::vector<Rank> CountRanksOnDevice(const at::Tensor& scores, absl::Span<const int64_t> row,
                                     absl::Span<const RankingQuery> queries);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_DEVICE_RANKS_H_
