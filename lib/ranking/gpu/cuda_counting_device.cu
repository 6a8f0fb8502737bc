#include <memory>
#include <string>

#include "lib/gpu/cuda_backend-inl.h"
#include "lib/ranking/gpu/counting_device-inl.h"
#include "lib/ranking/gpu/cuda_counting_device.h"

namespace rutile {

std::unique_ptr<CountingDevice> MakeCudaCountingDevice(int device, std::string* error) {
  *error = WhyNoCudaDevice(device);
  if (!error->empty()) return nullptr;
  auto made = std::make_unique<CountingDeviceOn<CudaBackend>>(device);
  *error = made->error();
  if (!error->empty()) return nullptr;
  return made;
}

}  // namespace rutile
