// The inner loop of the moving average: one pass, on the widest vectors of the machine.

#ifndef RUTILE_LIB_OPTIMIZER_EMA_KERNEL_H_
#define RUTILE_LIB_OPTIMIZER_EMA_KERNEL_H_

#include "absl/types/span.h"

namespace rutile {

// average += rest * (p - average), which is (1 - rest) average + rest p, in the type of the spans; `rest` is rounded to
// it once. Written so, a constant p is met exactly: 1 - rest and rest, rounded each for itself, do not add up to 1, and
// in fp32 with a decay of 0.9999 the average would be wrong by up to 3e-4 of its size. The same bits wherever an
// element lies. CHECK-fails when the lengths differ.
void EmaUpdate(double rest, absl::Span<const float> p, absl::Span<float> average);
void EmaUpdate(double rest, absl::Span<const double> p, absl::Span<double> average);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_EMA_KERNEL_H_
