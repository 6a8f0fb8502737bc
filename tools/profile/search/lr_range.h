// The learning-rate range test: the rate grows from step to step, and the loss says which rates learn.
//
// L. N. Smith, Cyclical learning rates for training neural networks, WACV 2017. Smoothing and suggestion as in fastai
// and Lightning's lr_find: the rate where the smoothed loss falls most steeply over the logarithm of the rate. Unlike
// there, slopes count only where the loss has left its plateau at tiny rates: the losses of batches differ by more than
// these rates can change them, and a lucky batch is no fall.

#ifndef RUTILE_TOOLS_PROFILE_SEARCH_LR_RANGE_H_
#define RUTILE_TOOLS_PROFILE_SEARCH_LR_RANGE_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace rutile {

// Options of smoothing and of the part of the curve that counts.
struct LrRangeOptions {
  double smoothing = 0.9;     // b of the moving average a' = b a + (1 - b) loss, divided by 1 - b^n; 0 <= b < 1
  int plateau = 20;           // first steps, at most a fifth of all, whose losses say how much those of batches vary
  int skip_end = 1;           // last steps, whose slope is ignored
  double stop_threshold = 4;  // ends the curve where the smoothed loss exceeds this times the lowest so far; > 1
};

// The result of a range test.
struct LrRange {
  std::vector<double> smoothed;  // [n] smoothed losses, up to where the curve ends
  bool diverged = false;         // the curve ended before the last step
  // True if the slope was sought where the smoothed loss is below the mean of the plateau by more than the standard
  // deviation of its losses, for good until `lowest`. Otherwise too few steps are, and the suggestion is `highest`.
  bool has_slope = false;
  size_t steepest = 0;    // index of the suggestion, with has_slope
  size_t lowest = 0;      // index of the lowest smoothed loss
  double suggestion = 0;  // the rate at `steepest`, or highest
  double highest = 0;     // a tenth of the rate at `lowest`: a useful upper bound
  double fall = 0;        // fall of the smoothed loss until `lowest`, by its first value: 0.3 is 30 %
};

// Finds the suggestion. rate, loss: [n] of steps in their order; rates rise by a constant factor. A loss that is not
// finite ends the curve. INVALID_ARGUMENT: lengths differ, rates do not rise, options out of range. FAILED_PRECONDITION
// if no suggestion can be made: too few steps before the loss rises, or it never falls by more than batches vary.
absl::StatusOr<LrRange> FindLearningRate(absl::Span<const double> rate, absl::Span<const double> loss,
                                         const LrRangeOptions& options = {});

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SEARCH_LR_RANGE_H_
