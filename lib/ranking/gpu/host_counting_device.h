// Counts on the host by the code of the GPU: slow, for tests.

#ifndef RUTILE_LIB_RANKING_GPU_HOST_COUNTING_DEVICE_H_
#define RUTILE_LIB_RANKING_GPU_HOST_COUNTING_DEVICE_H_

#include <memory>

#include "lib/ranking/gpu/counting_device.h"

namespace rutile {

std::unique_ptr<CountingDevice> MakeHostCountingDevice();

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_GPU_HOST_COUNTING_DEVICE_H_
