// How well one set of scores stands for another: approximate influence against exact influence.

#ifndef RUTILE_LIB_INFLUENCE_RANK_CORRELATION_H_
#define RUTILE_LIB_INFLUENCE_RANK_CORRELATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace rutile {

// Ranks from 1 on, ascending by value; equal values share the mean of their ranks. CHECK-fails on NaN.
std::vector<double> AverageRanks(absl::Span<const double> values);

// Pearson's correlation in [-1, 1]; NaN where one side does not vary or there are fewer than two values. CHECK-fails on
// unequal lengths, as do the others.
double PearsonCorrelation(absl::Span<const double> a, absl::Span<const double> b);

// Spearman's: Pearson's of the average ranks.
double SpearmanCorrelation(absl::Span<const double> a, absl::Span<const double> b);

// The share of the k highest of `exact` that are among the k highest of `approximate`; ties go to the lower index. k at
// most the number of values; k = 0: 1.
double TopOverlap(absl::Span<const double> exact, absl::Span<const double> approximate, int64_t k);

// |approximate - exact| / |exact|, Euclidean norms; 0 where both are 0.
double RelativeError(absl::Span<const double> exact, absl::Span<const double> approximate);

}  // namespace rutile

#endif  // RUTILE_LIB_INFLUENCE_RANK_CORRELATION_H_
