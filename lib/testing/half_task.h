// The toy task as fp16 networks would train it on a GPU, where there is none.

#ifndef RUTILE_LIB_TESTING_HALF_TASK_H_
#define RUTILE_LIB_TESTING_HALF_TASK_H_

#include "absl/status/status.h"
#include "lib/task/eager_options.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/testing/toy_task.h"

namespace rutile {

// Losses are ToyTask's; their gradients go through fp16 on their way back, where a scale of 65536 is infinite and the
// other powers of 2 change nothing.
class HalfTask : public ToyTask {
 public:
  using ToyTask::ToyTask;
  at::Tensor EagerLosses(const at::Tensor& parameters, const NamedTensors& batch,
                         const EagerOptions& options) const override;
  absl::Status CheckEager(const EagerOptions& options) const override { return absl::OkStatus(); }

  bool broken = false;  // gradients are infinite at any scale, of losses that are not
};

}  // namespace rutile

#endif  // RUTILE_LIB_TESTING_HALF_TASK_H_
