// Measures of how well approximate scores agree with exact scores.

#ifndef RUTILE_LIB_INFLUENCE_RANK_CORRELATION_H_
#define RUTILE_LIB_INFLUENCE_RANK_CORRELATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// Returns ranks from 1 on, ascending by value; equal values share the mean of their ranks. CHECK-fails on NaN.
std::vector<double> AverageRanks(absl::Span<const double> values);

// Returns Pearson's correlation in [-1, 1]; NaN if one side does not vary or there are fewer than two values. This and
// the functions below CHECK-fail on unequal lengths.
double PearsonCorrelation(absl::Span<const double> a, absl::Span<const double> b);

// Returns Spearman's correlation, which is Pearson's of the average ranks.
double SpearmanCorrelation(absl::Span<const double> a, absl::Span<const double> b);

// Returns the share of the k highest of `exact` that are among the k highest of `approximate`; ties go to the lower
// index. k is at most the number of values; for k = 0 it returns 1.
double TopOverlap(absl::Span<const double> exact, absl::Span<const double> approximate, int64_t k);

// Returns |approximate - exact| / |exact| in Euclidean norms; 0 if both are 0.
double RelativeError(absl::Span<const double> exact, absl::Span<const double> approximate);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_RANK_CORRELATION_H_
