// What a task tells about its gradient while it works on it, so that finished parts can be added up over processes
// beside the rest of the work.

#ifndef RUTILE_LIB_TASK_GRADIENT_OBSERVER_H_
#define RUTILE_LIB_TASK_GRADIENT_OBSERVER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Numbers [begin, end) of the flat gradient.
struct GradientRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Called by the thread that has called Task::AccumulateGradients, during that call.
class GradientObserver {
 public:
  virtual ~GradientObserver() = default;

  // gradients[0] has its value there: from now on the task neither reads nor writes it, as others do. At most once for
  // each number.
  virtual void Finish(GradientRange range) = 0;

  // What is missing in finished parts: row i of `rows` [n, width], of the gradient's type, is to be added at begin[i].
  // Copied.
  virtual void AddLater(absl::Span<const int64_t> begin, const Tensor& rows) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENT_OBSERVER_H_
