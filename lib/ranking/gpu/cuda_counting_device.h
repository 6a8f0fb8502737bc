// Counts on a GPU of NVIDIA.

#ifndef RUTILE_LIB_RANKING_GPU_CUDA_COUNTING_DEVICE_H_
#define RUTILE_LIB_RANKING_GPU_CUDA_COUNTING_DEVICE_H_

#include <memory>
#include <string>

#include "lib/ranking/gpu/counting_device.h"

namespace rutile {

// device: CUDA's number of the GPU. Returns null, and says why, if there is no such GPU or no code for it.
std::unique_ptr<CountingDevice> MakeCudaCountingDevice(int device, std::string* error);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_GPU_CUDA_COUNTING_DEVICE_H_
