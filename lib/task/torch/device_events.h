// Measures times on a GPU by LibTorch's events.

#ifndef RUTILE_LIB_TASK_TORCH_DEVICE_EVENTS_H_
#define RUTILE_LIB_TASK_TORCH_DEVICE_EVENTS_H_

#include <memory>
#include <string>

#include "lib/trace/device_clock.h"

namespace rutile {

// Returns a clock of the device, named as in LibTorch ("cuda", "cuda:1"), in the stream that this thread's LibTorch
// operations run in. Null for the CPU, which has no stream, and if LibTorch's events have no times (as in 1.13).
std::unique_ptr<DeviceClock> MakeDeviceClock(const std::string& device);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_DEVICE_EVENTS_H_
