// A step of force training whose device does nothing: what is left is what a step costs the host. For benchmarks.

#ifndef RUTILE_LIB_POTENTIAL_GPU_IDLE_FORCE_STEP_TESTING_H_
#define RUTILE_LIB_POTENTIAL_GPU_IDLE_FORCE_STEP_TESTING_H_

#include <cstdint>
#include <memory>

#include "lib/potential/gpu/force_step.h"

namespace rutile {

// What a host has asked of its device. A GPU takes about as long for each launch and copy, however small.
struct DeviceTraffic {
  int64_t launches = 0;  // of kernels
  int64_t uploads = 0, downloads = 0;
  int64_t upload_bytes = 0, download_bytes = 0;
};

// Makes a step whose gradients and results are 0. T is float or double. traffic: added to; must outlive the step.
template <typename T>
std::unique_ptr<ForceStep<T>> MakeIdleForceStep(const StepModel& model, DeviceTraffic* traffic);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_GPU_IDLE_FORCE_STEP_TESTING_H_
