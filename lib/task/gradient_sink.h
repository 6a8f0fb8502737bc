// Who takes parts of a gradient from the task that makes it, and may move the parameters there: while both are in the
// processor's cache, and before the rest of the gradient is known.

#ifndef RUTILE_LIB_TASK_GRADIENT_SINK_H_
#define RUTILE_LIB_TASK_GRADIENT_SINK_H_

#include <cstdint>

#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Called during Task::AccumulateGradients, by the thread that has called that and by the task's others, at one time.
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  // values [n]: the numbers [begin, begin + n) of gradients[0], to which nothing will be added; they are the task's
  // memory, and gone after the call. From now on the task reads neither the parameters there, which may have moved, nor
  // what gradients[0] holds there, and leaves both as they are. At most once for each number.
  virtual void Take(int64_t begin, const Tensor& values) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENT_SINK_H_
