// Where a larger batch stops paying.

#ifndef RUTILE_TOOLS_PROFILE_SEARCH_BATCH_KNEE_H_
#define RUTILE_TOOLS_PROFILE_SEARCH_BATCH_KNEE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace rutile {

struct BatchPoint {
  int64_t batch_size = 0;
  double examples_per_s = 0;  // 0: it did not run
  int64_t peak_bytes = 0;
};

// Index of the smallest batch whose examples_per_s is at least `share` (0 to 1) of the best; -1 when none ran. Points
// in the order of batch_size.
int FindKnee(absl::Span<const BatchPoint> points, double share);

// Bytes that a batch of `batch_size` will take: a line through the two largest batches that ran, never below the
// largest; 0 with fewer than two.
int64_t PredictBytes(absl::Span<const BatchPoint> points, int64_t batch_size);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SEARCH_BATCH_KNEE_H_
