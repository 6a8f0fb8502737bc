// The two ways to turn scores into probabilities. Weights count as repetitions do.

#ifndef RUTILE_LIB_CALIBRATION_CURVE_FITS_H_
#define RUTILE_LIB_CALIBRATION_CURVE_FITS_H_

#include <vector>

#include "absl/types/span.h"

namespace rutile {

// 1 / (1 + exp(-x)), without overflow.
double Logistic(double x);

// Finds the slope (0 or more) and offset of the logistic function that have the largest likelihood: the sum of weight
// (target log p + (1 - target) log(1 - p)), p = 1 / (1 + exp(-(slope score + offset))). Targets are from 0 to 1; all
// are of one length, above 0.
void FitLogistic(absl::Span<const double> scores, absl::Span<const double> targets, absl::Span<const double> weights,
                 double* slope, double* offset);

// A function that never falls.
struct Steps {
  std::vector<double> first, last, value;  // of each step: its first and last score, ascending, and the value
};

// Finds the function that never falls and has the least sum of weight (value - target)^2, by pooling adjacent
// violators.
Steps FitIsotonic(absl::Span<const double> scores, absl::Span<const double> targets, absl::Span<const double> weights);

}  // namespace rutile

#endif  // RUTILE_LIB_CALIBRATION_CURVE_FITS_H_
