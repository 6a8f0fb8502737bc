// The inner loop of influence: it sums products of all checkpoints and parts to scores, and finds the few scores that
// could be listed among very many that could not.

#ifndef RUTILE_LIB_INFLUENCE_SCORE_SUMS_H_
#define RUTILE_LIB_INFLUENCE_SCORE_SUMS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// The contribution of one part at one checkpoint to the scores of a tile: factor * train_scale[b] * (product[b, h] *
// test_scale[h]).
struct ScoreTerm {
  const double* product = nullptr;      // [B, H]
  double factor = 1;                    // the rate
  const double* train_scale = nullptr;  // [B]; null: all 1
  const double* test_scale = nullptr;   // [H]; null: all 1

  double At(int64_t num_tests, int64_t b, int64_t h) const {
    const double row = train_scale == nullptr ? factor : factor * train_scale[b];
    const double product_bh = product[b * num_tests + h];
    return row * (test_scale == nullptr ? product_bh : product_bh * test_scale[h]);
  }
};

// Scores strictly between these bounds are not reported.
struct ScoreBounds {
  double low, high;
};

// Sums the terms in their order for the tests [first, last) of H = num_tests, and calls found(b, h, score) unless
// bounds[h - first].low < score < .high; scores that are not finite are always reported. For each test, calls come in
// the order of training examples. `found` may change the bounds of its test, which then apply to later scores. Returns
// when `found` returns false.
void FindScores(absl::Span<const ScoreTerm> terms, int64_t num_train, int64_t num_tests, int64_t first, int64_t last,
                absl::Span<ScoreBounds> bounds, const std::function<bool(int64_t b, int64_t h, double score)>& found);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_SCORE_SUMS_H_
