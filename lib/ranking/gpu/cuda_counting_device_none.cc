// What stands for cuda_counting_device.cu where there is no nvcc.

#include <memory>
#include <string>

#include "lib/ranking/gpu/cuda_counting_device.h"

namespace rutile {

std::unique_ptr<CountingDevice> MakeCudaCountingDevice(int device, std::string* error) {
  *error = "this program was built without kernels for GPUs: install CUDA's nvcc and build again (docs/gpu.md)";
  return nullptr;
}

}  // namespace rutile
