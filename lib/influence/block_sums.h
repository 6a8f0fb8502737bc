// Scores of a block of training examples while checkpoints take turns in memory: the sums over those that have been.

#ifndef RUTILE_LIB_INFLUENCE_BLOCK_SUMS_H_
#define RUTILE_LIB_INFLUENCE_BLOCK_SUMS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/influence/score_sums.h"

namespace rutile {

// Holds num_train num_tests (1 + kept_parts) numbers. Sums have the bits of FindScores over all terms at once.
class BlockSums {
 public:
  // parts: of the terms that are added. keep_parts: sums of each part are kept, too.
  BlockSums(int64_t num_train, int64_t num_tests, int64_t parts, bool keep_parts);

  // Adds `terms` [checkpoints, parts] of the training examples [first, first + count), which are the terms' first.
  // is_first: there are no sums of these yet.
  void Add(absl::Span<const ScoreTerm> terms, bool is_first, int64_t first, int64_t count);

  // Of all terms, and of those of one part (keep_parts).
  ScoreTerm total() const { return {total_.data()}; }
  double Part(int64_t part, int64_t b, int64_t h) const { return of_parts_[part][b * num_tests_ + h]; }

 private:
  // sums[i, h] += the term, or =, for its first `count` training examples.
  void AddTerm(const ScoreTerm& term, bool is_first, int64_t count, double* sums);

  const int64_t num_tests_, parts_;
  std::vector<double> total_;                  // [B, H]
  std::vector<std::vector<double>> of_parts_;  // likewise, where they are kept
  std::vector<double> train_, test_;           // [H] scales of a row
};

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_BLOCK_SUMS_H_
