// Finds where a larger batch stops paying.

#ifndef RUTILE_TOOLS_PROFILE_SEARCH_BATCH_KNEE_H_
#define RUTILE_TOOLS_PROFILE_SEARCH_BATCH_KNEE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace rutile {

// The throughput and memory of one batch size.
struct BatchPoint {
  int64_t batch_size = 0;
  double examples_per_s = 0;  // 0: it did not run
  int64_t peak_bytes = 0;
};

// Returns the index of the smallest batch whose examples_per_s is at least `share` (0 to 1) of the best; -1 if none
// ran. Points are in the order of batch_size.
int FindKnee(absl::Span<const BatchPoint> points, double share);

// Predicts the bytes of a batch of `batch_size` by a line through the two largest batches that ran, but at least those
// of the largest; 0 with fewer than two.
int64_t PredictBytes(absl::Span<const BatchPoint> points, int64_t batch_size);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_SEARCH_BATCH_KNEE_H_
