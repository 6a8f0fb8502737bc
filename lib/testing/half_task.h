// Imitates on the CPU how fp16 networks train the toy task on a GPU.

#ifndef RUTILE_LIB_TESTING_HALF_TASK_H_
#define RUTILE_LIB_TESTING_HALF_TASK_H_

#include "lib/task/eager_options.h"
#include "lib/task/torch/eager_task.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"

namespace rutile {

// A task with the losses of ToyTask, whose gradients pass through fp16 on their way back: a scale of 65536 is infinite
// there, and smaller powers of 2 change nothing.
class HalfTask : public ToyTask, public EagerTask {
 public:
  using ToyTask::ToyTask;
  const EagerTask* eager() const override { return this; }
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& options) const override;

  bool broken = false;  // if true, gradients are infinite at any scale, although losses are finite
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_HALF_TASK_H_
