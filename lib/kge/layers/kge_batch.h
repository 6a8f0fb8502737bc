// A batch of queries as views of plain arrays, which models and losses work on.

#ifndef RUTILE_LIB_KGE_LAYERS_KGE_BATCH_H_
#define RUTILE_LIB_KGE_LAYERS_KGE_BATCH_H_

#include <cstdint>

#include "absl/types/span.h"

namespace rutile {

// B queries (head, relation) with their true tails.
struct KgeBatch {
  absl::Span<const int32_t> head, relation;   // [B]
  absl::Span<const int64_t> example;          // [B] the task's numbers of the examples, on which dropout masks depend
  absl::Span<const int64_t> positive_offset;  // [B + 1]
  absl::Span<const int32_t> positive;         // true tails of each query, ascending
  int64_t epoch = 0;                          // from 0; dropout masks depend on it
  bool training = true;  // true: batch statistics and dropout; false: running statistics, no dropout
  int64_t number = 0;    // of the batch in its epoch, from 0; the candidates' dropout mask depends on it
  // How much each true tail counts in the loss; empty: all 1. lib/kge/training/scores/query_weights.h has the meaning.
  absl::Span<const double> positive_weight = {};
  // [B] 1 for a query whose one tail, listed in `positive`, is known to be false; empty: none is.
  absl::Span<const uint8_t> is_false = {};
  // Entities that all queries of a training batch have as false answers, ascending, each once, in place of the entities
  // that are not their tails; lib/kge/training/scores/sampled_scores.h has the loss. Empty: all entities are scored.
  absl::Span<const int32_t> negative = {};
  absl::Span<const double> negative_log_weight = {};  // -log of how many times each is drawn on average

  int64_t size() const { return static_cast<int64_t>(head.size()); }
  bool IsFalse(int64_t query) const { return !is_false.empty() && is_false[query] != 0; }
  // Returns how much the true tail with index k of `positive` counts: 1 without weights.
  double TailWeight(int64_t k) const { return positive_weight.empty() ? 1 : positive_weight[k]; }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_KGE_BATCH_H_
