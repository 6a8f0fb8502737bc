// Lets a device perform the steps of the host's optimizers.

#ifndef RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PERFORMER_H_
#define RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PERFORMER_H_

#include "absl/status/status.h"
#include "lib/optimizer/gpu/device_parameters.h"
#include "lib/optimizer/optimizer.h"

namespace rutile {

// Performs the step that Optimizer::BeginStep has begun on the device's parameters and its copies of the optimizer's
// tensors, with the gradient of DeviceParameters::Combine. INTERNAL if the device fails. CHECK-fails if the optimizer
// has another type, or cannot describe its steps (Optimizer::VisitStep).
absl::Status PerformStep(const Optimizer& optimizer, DeviceParameters* device);

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PERFORMER_H_
