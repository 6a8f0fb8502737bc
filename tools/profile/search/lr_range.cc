#include "tools/profile/search/lr_range.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rutile {
namespace {

absl::Status CheckArguments(absl::Span<const double> rate, absl::Span<const double> loss,
                            const LrRangeOptions& options) {
  if (rate.size() != loss.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("learning-rate range: ", rate.size(), " rates and ", loss.size(), " losses"));
  }
  for (size_t i = 0; i < rate.size(); ++i) {
    if (!(rate[i] > (i == 0 ? 0 : rate[i - 1])) || !std::isfinite(rate[i])) {
      return absl::InvalidArgumentError(absl::StrCat("learning-rate range: the rate of step ", i + 1, " is ", rate[i],
                                                     ", expected rates above 0 that rise"));
    }
  }
  if (!(options.smoothing >= 0 && options.smoothing < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("smoothing is ", options.smoothing, ", expected 0 <= smoothing < 1"));
  }
  if (!(options.stop_threshold > 1)) {
    return absl::InvalidArgumentError(absl::StrCat("stop_threshold is ", options.stop_threshold, ", expected above 1"));
  }
  if (options.plateau < 2 || options.skip_end < 0) {
    return absl::InvalidArgumentError(absl::StrCat("plateau is ", options.plateau, " and skip_end is ",
                                                   options.skip_end, ", expected 2 or more, and 0 or more"));
  }
  return absl::OkStatus();
}

// Returns the smoothed loss below which it has fallen by more than the losses of the first `steps` vary.
double PlateauFloor(absl::Span<const double> loss, size_t steps) {
  double sum = 0, square = 0;
  for (size_t i = 0; i < steps; ++i) sum += loss[i];
  const double mean = sum / static_cast<double>(steps);
  for (size_t i = 0; i < steps; ++i) square += (loss[i] - mean) * (loss[i] - mean);
  // Losses without noise vary by rounding alone.
  return mean - std::max(std::sqrt(square / static_cast<double>(steps - 1)), 1e-9 * std::abs(mean));
}

}  // namespace

absl::StatusOr<LrRange> FindLearningRate(absl::Span<const double> rate, absl::Span<const double> loss,
                                         const LrRangeOptions& options) {
  const absl::Status status = CheckArguments(rate, loss, options);
  if (!status.ok()) return status;
  LrRange range;
  const size_t plateau = std::max<size_t>(2, std::min(static_cast<size_t>(options.plateau), loss.size() / 5));
  double average = 0, weight = 1, lowest = INFINITY;
  for (size_t i = 0; i < loss.size(); ++i) {
    average = options.smoothing * average + (1 - options.smoothing) * loss[i];
    weight *= options.smoothing;
    const double smoothed = average / (1 - weight);
    if (!std::isfinite(smoothed)) {
      range.diverged = true;
      break;
    }
    range.smoothed.push_back(smoothed);
    // The average of the first steps has too few losses.
    if (i < plateau) continue;
    if (smoothed < lowest) {
      lowest = smoothed;
      range.lowest = i;
    }
    // A loss of 0 or below has no multiple to compare with.
    if (lowest > 0 && smoothed > options.stop_threshold * lowest) {
      range.diverged = true;
      break;
    }
  }
  const size_t n = range.smoothed.size();
  const size_t end = n > static_cast<size_t>(options.skip_end) ? n - static_cast<size_t>(options.skip_end) : 0;
  if (end < plateau + 3) {
    return absl::FailedPreconditionError(
        absl::StrCat("the loss diverges after ", n, " steps, at a rate of ", n == 0 ? 0 : rate[n - 1],
                     ": begin at a lower rate (--min_lr), or take more steps (--lr_steps)"));
  }
  const double floor = PlateauFloor(loss, plateau);
  if (!(lowest < floor)) {
    return absl::FailedPreconditionError(
        "the loss falls at no rate by more than the losses of the first batches differ: look at the curve, and try "
        "other rates (--min_lr, --max_lr), more steps (--lr_steps) or larger batches");
  }
  size_t begin = range.lowest;
  while (begin > plateau && range.smoothed[begin - 1] < floor) --begin;
  // Rates rise by a constant factor: differences of the loss are slopes over the logarithm of the rate.
  double steepest = 0;
  for (size_t i = begin; i <= range.lowest && i + 1 < end; ++i) {
    const double slope = (range.smoothed[i + 1] - range.smoothed[i - 1]) / 2;
    if (slope < steepest) {
      steepest = slope;
      range.steepest = i;
      range.has_slope = true;
    }
  }
  range.highest = rate[range.lowest] / 10;
  range.suggestion = range.has_slope ? rate[range.steepest] : range.highest;
  range.fall = (range.smoothed.front() - lowest) / std::abs(range.smoothed.front());
  return range;
}

}  // namespace rutile
