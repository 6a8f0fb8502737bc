#include "lib/ranking/gpu/host_counting_device.h"

#include <memory>

#include "lib/gpu/host_backend-inl.h"
#include "lib/ranking/gpu/counting_device-inl.h"
#include "lib/ranking/gpu/counting_device.h"

namespace rutile {

std::unique_ptr<CountingDevice> MakeHostCountingDevice() { return std::make_unique<CountingDeviceOn<HostBackend>>(); }

}  // namespace rutile
