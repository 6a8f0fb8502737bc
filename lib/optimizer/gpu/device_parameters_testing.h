// A device that is the host, with the parameters that it keeps.

#ifndef RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_TESTING_H_
#define RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_TESTING_H_

#include <cstdint>

#include "lib/gpu/host_backend-inl.h"
#include "lib/optimizer/gpu/device_parameters-inl.h"

namespace rutile {

// Runs the kernels of GPUs. T is float or double.
template <typename T>
struct HostDevice {
  explicit HostDevice(int64_t size) : parameters(&backend, size) {}

  HostBackend backend;
  DeviceParametersOn<T, HostBackend> parameters;
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GPU_DEVICE_PARAMETERS_TESTING_H_
