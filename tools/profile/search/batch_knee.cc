#include "tools/profile/search/batch_knee.h"

#include <algorithm>

namespace rutile {

int FindKnee(absl::Span<const BatchPoint> points, double share) {
  double best = 0;
  for (const BatchPoint& point : points) best = std::max(best, point.examples_per_s);
  for (size_t i = 0; best > 0 && i < points.size(); ++i) {
    if (points[i].examples_per_s >= share * best) return static_cast<int>(i);
  }
  return -1;
}

int64_t PredictBytes(absl::Span<const BatchPoint> points, int64_t batch_size) {
  const BatchPoint *last = nullptr, *before = nullptr;
  for (const BatchPoint& point : points) {
    if (point.examples_per_s <= 0) continue;
    before = last;
    last = &point;
  }
  if (before == nullptr || last->batch_size <= before->batch_size) return 0;
  const double slope = static_cast<double>(last->peak_bytes - before->peak_bytes) /
                       static_cast<double>(last->batch_size - before->batch_size);
  const double more = slope * static_cast<double>(batch_size - last->batch_size);
  return last->peak_bytes + static_cast<int64_t>(std::max(0.0, more));
}

}  // namespace rutile
