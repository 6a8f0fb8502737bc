// Sums scores of a block of training examples over checkpoints that take turns in memory.

#ifndef RUTILE_LIB_INFLUENCE_BLOCK_SUMS_H_
#define RUTILE_LIB_INFLUENCE_BLOCK_SUMS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/influence/score_sums.h"

namespace rutile {

// The sums of the checkpoints so far, num_train num_tests (1 + kept parts) numbers. They have the bits of FindScores
// over all terms at once.
class BlockSums {
 public:
  // parts: the number of parts of the terms. keep_parts: also store the sums of each part.
  BlockSums(int64_t num_train, int64_t num_tests, int64_t parts, bool keep_parts);

  // Adds `terms` [checkpoints, parts] of the training examples [first, first + count), which are the first `count` of
  // each term. is_first: these are the first terms of these examples.
  void Add(absl::Span<const ScoreTerm> terms, bool is_first, int64_t first, int64_t count);

  // The sum of all terms, and of the terms of one part (with keep_parts).
  ScoreTerm total() const { return {total_.data()}; }
  double Part(int64_t part, int64_t b, int64_t h) const { return of_parts_[part][b * num_tests_ + h]; }

 private:
  // Adds the term's first `count` training examples to sums [., H], or overwrites them with these if is_first.
  void AddTerm(const ScoreTerm& term, bool is_first, int64_t count, double* sums);

  const int64_t num_tests_, parts_;
  std::vector<double> total_;                  // [B, H]
  std::vector<std::vector<double>> of_parts_;  // [parts] of [B, H], with keep_parts
  std::vector<double> train_, test_;           // [H] scales of a row
};

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_BLOCK_SUMS_H_
