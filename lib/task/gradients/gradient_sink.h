// Receives finished parts of a gradient and may update the matching parameters at once, while both are in the
// processor's cache and before the rest of the gradient is known ("optimizer in backward").

#ifndef RUTILE_LIB_TASK_GRADIENTS_GRADIENT_SINK_H_
#define RUTILE_LIB_TASK_GRADIENTS_GRADIENT_SINK_H_

#include <cstdint>

#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Takes parts of the gradient during Task::AccumulateGradients. The calling thread and the task's other threads call it
// concurrently.
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  // Takes `values` [n], the final elements [begin, begin + n) of gradients[0]; they are the task's memory, valid during
  // the call. From now on the task neither reads nor writes the parameters there, which may have been updated, nor
  // gradients[0] there. Called at most once for each element.
  virtual void Take(int64_t begin, const Tensor& values) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENTS_GRADIENT_SINK_H_
