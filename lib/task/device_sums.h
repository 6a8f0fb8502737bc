// Sums over the processes that train one model together, of what lies on their GPUs.

#ifndef RUTILE_LIB_TASK_DEVICE_SUMS_H_
#define RUTILE_LIB_TASK_DEVICE_SUMS_H_

#include "absl/status/status.h"

namespace at {
class Tensor;
}

namespace rutile {

// All processes make the same calls in the same order, each with a GPU of its own.
class DeviceSums {
 public:
  virtual ~DeviceSums() = default;

  // In place, the sum over all processes, added in the tensor's type. It takes its turn among LibTorch's operations on
  // the GPU, so that the call may return before it is done. Errors as those of Exchange.
  virtual absl::Status Sum(at::Tensor* values) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_DEVICE_SUMS_H_
