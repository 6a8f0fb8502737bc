// A capability of tasks of one term whose kernels work on a GPU: they differentiate at parameters that stay there, and
// leave the gradient there for the optimizer (lib/optimizer/gpu/device_parameters.h).

#ifndef RUTILE_LIB_TASK_GRADIENTS_RESIDENT_GRADIENTS_H_
#define RUTILE_LIB_TASK_GRADIENTS_RESIDENT_GRADIENTS_H_

#include "absl/status/status.h"
#include "lib/task/loss_terms.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

class DeviceParameters;

// Task::resident() returns it. Only tasks of one term have it. Their other calls take parameters of the host, as those
// of all tasks do, and must leave the device's parameters alone: Task::Evaluate is called between steps, and
// Task::AccumulateGradients by the comparison of the first batch and where the host steps all the same (several
// processes, L-BFGS), or GradientStream::StreamGradients if the task has that, too. Steps on the device use no stream.
class ResidentGradients {
 public:
  virtual ~ResidentGradients() = default;

  // Where the kernels work, of Task::num_parameters() parameters of Task::parameter_dtype(). The caller puts the
  // parameters there (DeviceParameters::Begin) and moves them between calls of AddOnDevice.
  virtual DeviceParameters* parameters() = 0;

  // Computes the gradient of the batch at the device's parameters, and adds it to the device's gradient. overwrite:
  // writes it over all of the device's gradient instead, whose contents are then unspecified before the call (also
  // NaN). The elements of buffers are 0. It need not wait for the device. The term's sum and count stay with the task
  // until FetchSums.
  virtual absl::Status AddOnDevice(const NamedTensors& batch, bool overwrite) = 0;

  // Waits for the device, and adds sum and count of all batches since the last call to `sums`. Where the batches moved
  // the task's buffers, Task::FinishStep, which comes next, then knows how.
  virtual absl::Status FetchSums(TermSums* sums) = 0;
};

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_GRADIENTS_RESIDENT_GRADIENTS_H_
