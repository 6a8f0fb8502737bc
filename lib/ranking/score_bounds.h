// How far a score of rounded factors can be from the exact one, and what that leaves undecided.
//
// With x' = bf16(x) and x = x' + r, and u = 2^-24 the rounding of fp32,
//
//   |<h, e> - <h', e'>|  <=  |r_h| |e'| + |h| |r_e|       (Cauchy-Schwarz)
//
// and either sum, in any order, is wrong by n u |h| |e| at most (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, 3.1; here 2 n + 64 roundings for both). Norms are rounded up, with what may underflow in them.

#ifndef RUTILE_LIB_RANKING_SCORE_BOUNDS_H_
#define RUTILE_LIB_RANKING_SCORE_BOUNDS_H_

#include <cstdint>

namespace rutile {

// At least |x'| and |r| of n rows [n, dim]. Not finite where a row is not, or its norm overflows.
void RowNorms(const float* rows, int64_t n, int64_t dim, float* rounded, float* rest);

// A query, whose scores of rounded factors are wrong by rounded * |e'| + rest * |r_e| at most, those of factors as they
// are by exact * (|e'| + |r_e|), but for the bias's part.
struct QueryBound {
  float rounded = 0, rest = 0, exact = 0;
};

// A block of n entities: rows [n, dim], biases, norms of rows.
struct BoundedBlock {
  int64_t n = 0, dim = 0;
  const float *rows = nullptr, *bias = nullptr, *rounded = nullptr, *rest = nullptr;
};

// Of a query whose norms RowNorms gave.
QueryBound MakeQueryBound(float norm_rounded, float norm_rest, int64_t dim);

// Of scores[k] + bias[k], k < n, adds to *greater how many surely exceed the target, and writes the k of those that
// may be equal to it or on either side to `undecided` [n + 16], ascending. Returns their number. Where a bound, score
// or target is not finite, the score is undecided.
int64_t CountDecided(const BoundedBlock& block, const float* scores, const QueryBound& query, float target,
                     int64_t* greater, int32_t* undecided);

// The same of the entities undecided[0 .. count), by products in fp32 in whatever order is fast. Keeps those that are
// still undecided, and returns their number.
int64_t CountDecidedByProducts(const BoundedBlock& block, const float* hidden, const QueryBound& query, float target,
                               int64_t count, int64_t* greater, int32_t* undecided);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_SCORE_BOUNDS_H_
