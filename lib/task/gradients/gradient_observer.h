// Tells which parts of a gradient are finished while a task computes it, so that they can be summed over processes
// beside the rest of the work.

#ifndef RUTILE_LIB_TASK_GRADIENTS_GRADIENT_OBSERVER_H_
#define RUTILE_LIB_TASK_GRADIENTS_GRADIENT_OBSERVER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Elements [begin, end) of the flat gradient.
struct GradientRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Receives news of a gradient during Task::AccumulateGradients, from the thread that has called it.
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;

  // gradients[0] is final in `range`: from now on others read and write it, and the task does neither. Called at most
  // once for each element.
  virtual void Finish(GradientRange range) = 0;

  // Passes addends of finished parts: row i of `rows` [n, width], of the gradient's type, is still to be added at
  // begin[i]. The observer copies them.
  virtual void AddLater(absl::Span<const int64_t> begin, const Tensor& rows) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENTS_GRADIENT_OBSERVER_H_
