// Bounds the error of scores of rounded factors, and finds the comparisons that the error leaves undecided.
//
// With x' = bf16(x) and x = x' + r, and u = 2^-24 the rounding of fp32,
//
//   |<h, e> - <h', e'>|  <=  |r_h| |e'| + |h| |r_e|       (Cauchy-Schwarz)
//
// and either sum, in any order, is wrong by at most n u |h| |e| (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, 3.1; here 2 n + 64 roundings for both). Norms are rounded up, and include what may underflow.

#ifndef RUTILE_LIB_RANKING_SCORES_SCORE_BOUNDS_H_
#define RUTILE_LIB_RANKING_SCORES_SCORE_BOUNDS_H_

#include <cstdint>

namespace rutile {

// Computes upper bounds of |x'| and |r| of n rows [n, dim]. They are not finite if a row is not, or its norm overflows.
void RowNorms(const float* rows, int64_t n, int64_t dim, float* rounded, float* rest);

// Error bounds of a query's scores: at most rounded * |e'| + rest * |r_e| for rounded factors, and exact * (|e'| +
// |r_e|) for exact ones, without the bias's part.
struct QueryBound {
  float rounded = 0, rest = 0, exact = 0;
};

// A block of n entities: rows [n, dim], biases, and the norms from RowNorms.
struct BoundedBlock {
  int64_t n = 0, dim = 0;
  const float *rows = nullptr, *bias = nullptr, *rounded = nullptr, *rest = nullptr;
};

// Returns the bounds of a query with norms from RowNorms.
QueryBound MakeQueryBound(float norm_rounded, float norm_rest, int64_t dim);

// Adds to *greater the number of scores[k] + bias[k], k < n, that surely exceed the target, and writes the k of those
// that may be on either side to `undecided` [n + 16], ascending. Returns their number. If a bound, score or target is
// not finite, the score is undecided.
int64_t CountDecided(const BoundedBlock& block, const float* scores, const QueryBound& query, float target,
                     int64_t* greater, int32_t* undecided);

// Decides the entities undecided[0 .. count) by products in fp32, summed in any order that is fast: adds to *greater
// those that surely exceed the target. Keeps those that are still undecided, and returns their number.
int64_t CountDecidedByProducts(const BoundedBlock& block, const float* hidden, const QueryBound& query, float target,
                               int64_t count, int64_t* greater, int32_t* undecided);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORES_SCORE_BOUNDS_H_
