// Vectorized passes over the products of each pair of a training example and a test.

#ifndef RUTILE_LIB_INFLUENCE_SCORE_KERNEL_H_
#define RUTILE_LIB_INFLUENCE_SCORE_KERNEL_H_

#include <cstdint>

namespace rutile {

// Arrays have n numbers. Products and sums are rounded separately (no fused multiply-add), so that results are those of
// plain loops, on any machine and at any position.

// Computes sum[i] += factor * product[i], or sum[i] = factor * product[i] if `first`.
void AddScaled(bool first, const double* product, double factor, int64_t n, double* sum);

// Computes sum[i] += train[i] * (product[i] * test[i]), or sum[i] = ... if `first`.
void AddScaled(bool first, const double* product, const double* train, const double* test, int64_t n, double* sum);

// True unless low[i] < score[i] < high[i] for all i; a NaN is not between any bounds.
bool AnyOutside(const double* score, const double* low, const double* high, int64_t n);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_SCORE_KERNEL_H_
