// Counts filtered ranks of targets on the device of the scores, a GPU, by LibTorch's operations.

#ifndef RUTILE_LIB_KGE_TRAINING_DEVICE_RANKS_H_
#define RUTILE_LIB_KGE_TRAINING_DEVICE_RANKS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/ranking/rank_counts.h"

namespace rutile {

// Does what CountRanks does. scores: [B, entities], contiguous, F32 or F64; overwritten. row: [Q], each query's row of
// the scores, no two the same.
std::vector<Rank> CountRanksOnDevice(const at::Tensor& scores, absl::Span<const int64_t> row,
                                     absl::Span<const RankingQuery> queries);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_DEVICE_RANKS_H_
