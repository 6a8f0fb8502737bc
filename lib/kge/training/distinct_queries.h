// The distinct queries of an evaluation batch, so that a query that several examples share is ranked once.

#ifndef RUTILE_LIB_KGE_TRAINING_DISTINCT_QUERIES_H_
#define RUTILE_LIB_KGE_TRAINING_DISTINCT_QUERIES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/ranking/rank_counts.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Distinct queries, each with the targets of all examples that share it.
struct DistinctQueries {
  std::vector<int32_t> head, relation;
  std::vector<int64_t> row;  // row in the batch of one of these examples
  std::vector<std::vector<int32_t>> targets;
  std::vector<absl::Span<const int32_t>> known;

  // Returns them for rank_counts.h; they refer to this object.
  std::vector<RankingQuery> Queries() const;
};

// Finds the distinct queries of an evaluation batch of KgeExamples::FillBatch, which must outlive them.
DistinctQueries FindDistinct(const NamedTensors& batch);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_DISTINCT_QUERIES_H_
