// --device: what compares targets with all entities.

#ifndef RUTILE_TOOLS_EVALUATE_DEVICE_FLAG_H_
#define RUTILE_TOOLS_EVALUATE_DEVICE_FLAG_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/ranking/gpu/counting_device.h"

namespace rutile {

// Returns the GPU that --device names, or null for the CPU. INVALID_ARGUMENT: another text. UNAVAILABLE: no such GPU.
absl::StatusOr<std::unique_ptr<CountingDevice>> DeviceFromFlag();

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_DEVICE_FLAG_H_
