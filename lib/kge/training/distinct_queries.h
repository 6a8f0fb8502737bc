// The queries of a batch that differ: those that several examples share are ranked once.

#ifndef RUTILE_LIB_KGE_TRAINING_DISTINCT_QUERIES_H_
#define RUTILE_LIB_KGE_TRAINING_DISTINCT_QUERIES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/ranking/rank_counts.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Each with what all examples that ask it want ranked.
struct DistinctQueries {
  std::vector<int32_t> head, relation;
  std::vector<int64_t> row;  // in the batch, of one of these examples
  std::vector<std::vector<int32_t>> targets;
  std::vector<absl::Span<const int32_t>> known;

  // For rank_counts.h; refers to this.
  std::vector<RankingQuery> Queries() const;
};

// Of an evaluation batch of KgeExamples::FillBatch, which must outlive them.
DistinctQueries FindDistinct(const NamedTensors& batch);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_DISTINCT_QUERIES_H_
