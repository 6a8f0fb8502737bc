// Vectorized inner loop of the moving average.

#ifndef RUTILE_LIB_OPTIMIZER_AVERAGES_EMA_KERNEL_H_
#define RUTILE_LIB_OPTIMIZER_AVERAGES_EMA_KERNEL_H_

#include "absl/types/span.h"

namespace rutile {

// Computes average += rest * (p - average), that is (1 - rest) average + rest p, in the type of the spans, to which
// `rest` is rounded once. In this form the average of a constant p equals p exactly. 1 - rest and rest, each rounded,
// do not add up to 1: in fp32 with a decay of 0.9999 the average would be wrong by up to 3e-4 of its size. An element
// gets the same bits at any position. CHECK-fails if the lengths differ.
void EmaUpdate(double rest, absl::Span<const float> p, absl::Span<float> average);
void EmaUpdate(double rest, absl::Span<const double> p, absl::Span<double> average);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_AVERAGES_EMA_KERNEL_H_
