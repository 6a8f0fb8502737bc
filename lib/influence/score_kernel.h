// The passes over products that every pair of a training example and a test takes, on the widest vectors of the
// machine.

#ifndef RUTILE_LIB_INFLUENCE_SCORE_KERNEL_H_
#define RUTILE_LIB_INFLUENCE_SCORE_KERNEL_H_

#include <cstdint>

namespace rutile {

// The arrays have n numbers. Products and sums are rounded one after the other (no fused operations), so that results
// are those of plain loops, on any machine and wherever a number lies.

// sum[i] += factor * product[i]; or instead of +=, = where it is the `first`.
void AddScaled(bool first, const double* product, double factor, int64_t n, double* sum);

// sum[i] += train[i] * (product[i] * test[i]), or =.
void AddScaled(bool first, const double* product, const double* train, const double* test, int64_t n, double* sum);

// Whether for some i it is not so that low[i] < score[i] < high[i]; a NaN is not between anything.
bool AnyOutside(const double* score, const double* low, const double* high, int64_t n);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_SCORE_KERNEL_H_
