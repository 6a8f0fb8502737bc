// Sums of GPU tensors over the processes that train one model together.

#ifndef RUTILE_LIB_TASK_DEVICE_SUMS_H_
#define RUTILE_LIB_TASK_DEVICE_SUMS_H_

#include "absl/status/status.h"

namespace at {
class Tensor;
}

namespace rutile {

// An all-reduce of GPU tensors. All processes make the same calls in the same order, each with its own GPU.
class DeviceSums {
 public:
  virtual ~DeviceSums() = default;

  // Replaces `values` by its sum over all processes, added in the tensor's type. The sum is queued among LibTorch's
  // operations on the GPU, so the call may return before it is done. Errors are those of Exchange::Sum.
  virtual absl::Status Sum(at::Tensor* values) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_DEVICE_SUMS_H_
