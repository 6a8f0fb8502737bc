// The inner loop of influence: products of all checkpoints and parts become scores, and scores that could be listed are
// found among very many that could not.

#ifndef RUTILE_LIB_INFLUENCE_SCORE_SUMS_H_
#define RUTILE_LIB_INFLUENCE_SCORE_SUMS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// What one part at one checkpoint adds to the scores of a tile: factor * train_scale[b] * (product[b, h] *
// test_scale[h]).
struct ScoreTerm {
  const double* product = nullptr;      // [B, H]
  double factor = 1;                    // the rate
  const double* train_scale = nullptr;  // [B], or none: 1
  const double* test_scale = nullptr;   // [H], or none: 1

  double At(int64_t num_tests, int64_t b, int64_t h) const {
    const double row = train_scale == nullptr ? factor : factor * train_scale[b];
    const double product_bh = product[b * num_tests + h];
    return row * (test_scale == nullptr ? product_bh : product_bh * test_scale[h]);
  }
};

// Scores strictly between them are of no interest.
struct ScoreBounds {
  double low, high;
};

// Sums the terms in their order for the tests [first, last) of H = num_tests, and calls found(b, h, score) unless
// bounds[h - first].low < score < .high: scores that are not finite are found, always. For each test in the order of
// training examples. `found` may move the bounds of its test, which then count for what follows. Returns when `found`
// does not return true.
void FindScores(absl::Span<const ScoreTerm> terms, int64_t num_train, int64_t num_tests, int64_t first, int64_t last,
                absl::Span<ScoreBounds> bounds, const std::function<bool(int64_t b, int64_t h, double score)>& found);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_SCORE_SUMS_H_
