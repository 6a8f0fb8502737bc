// Times on a GPU, by LibTorch's events.

#ifndef RUTILE_LIB_TASK_DEVICE_EVENTS_H_
#define RUTILE_LIB_TASK_DEVICE_EVENTS_H_

#include <memory>
#include <string>

#include "lib/trace/device_clock.h"

namespace rutile {

// Of a device as LibTorch names it ("cuda", "cuda:1"), in the queue that LibTorch's operations of this thread go to.
// Null for the CPU, which has no queue, and where LibTorch's events know no times (those of 1.13).
std::unique_ptr<DeviceClock> MakeDeviceClock(const std::string& device);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_DEVICE_EVENTS_H_
