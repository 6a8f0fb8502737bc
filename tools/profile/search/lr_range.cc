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
  if (options.skip_begin < 0 || options.skip_end < 0) {
    return absl::InvalidArgumentError(absl::StrCat("skip_begin is ", options.skip_begin, " and skip_end is ",
                                                   options.skip_end, ", expected 0 or more"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LrRange> FindLearningRate(absl::Span<const double> rate, absl::Span<const double> loss,
                                         const LrRangeOptions& options) {
  const absl::Status status = CheckArguments(rate, loss, options);
  if (!status.ok()) return status;
  LrRange range;
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
  const auto begin = static_cast<size_t>(options.skip_begin);
  const size_t n = range.smoothed.size();
  const size_t end = n > static_cast<size_t>(options.skip_end) ? n - static_cast<size_t>(options.skip_end) : 0;
  if (end < begin + 3) {
    return absl::FailedPreconditionError(
        absl::StrCat("the loss diverges after ", n, " steps, at a rate of ", n == 0 ? 0 : rate[n - 1],
                     ": begin at a lower rate (--min_lr), or take more steps (--lr_steps)"));
  }
  // Rates rise by a constant factor: differences of the loss are slopes over the logarithm of the rate.
  double steepest = INFINITY;
  for (size_t i = begin; i < end; ++i) {
    const size_t before = i == begin ? i : i - 1, after = i + 1 == end ? i : i + 1;
    const double slope = (range.smoothed[after] - range.smoothed[before]) / static_cast<double>(after - before);
    if (slope < steepest) {
      steepest = slope;
      range.steepest = i;
    }
  }
  if (!(steepest < 0)) {
    return absl::FailedPreconditionError(
        "the loss falls at no rate: look at the curve, and try other rates (--min_lr, --max_lr) or more steps "
        "(--lr_steps)");
  }
  range.suggestion = rate[range.steepest];
  range.highest = rate[range.lowest] / 10;
  range.fall = (range.smoothed.front() - lowest) / std::abs(range.smoothed.front());
  return range;
}

}  // namespace rutile
