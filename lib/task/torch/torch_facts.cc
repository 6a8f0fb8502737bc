#include "lib/task/torch/torch_facts.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <torch/version.h>

#include "absl/status/statusor.h"
#include "lib/machine/cpu_bf16.h"
#include "lib/task/device_name.h"

namespace torch::jit {
bool canFuseOnCPU();  // exported, but Debian does not ship its header
}

namespace rutile {
namespace {

// 0 for "cuda".
int DeviceIndex(absl::string_view device) {
  const absl::StatusOr<DeviceName> name = ParseDeviceName(device);
  return name.ok() ? name->number.value_or(0) : 0;
}

}  // namespace

TorchFacts FindTorchFacts() {
  TorchFacts facts;
  facts.version = TORCH_VERSION;
  facts.has_cuda = at::globalContext().hasCUDART();
  facts.num_cuda_devices = static_cast<int>(at::getNumGPUs());
  facts.fuses_on_cpu = torch::jit::canFuseOnCPU();
  facts.cpu_bf16 = CpuBf16Instructions();
  facts.cpu_matmul_precision = TORCH_VERSION_MAJOR >= 2;
  return facts;
}

// LibTorch tells the capability in headers that need CUDA's own; its library is loaded in any case where there is a
// device, and the number of the attribute is part of CUDA's binary interface.
bool CudaHasBf16(absl::string_view device) {
  if (at::getNumGPUs() == 0) return false;
  using GetAttribute = int (*)(int* value, int attribute, int device);
  const auto get = reinterpret_cast<GetAttribute>(dlsym(RTLD_DEFAULT, "cudaDeviceGetAttribute"));
  constexpr int kComputeCapabilityMajor = 75;
  int major = 0;
  return get != nullptr && get(&major, kComputeCapabilityMajor, DeviceIndex(device)) == 0 && major >= 8;
}

std::string CudaBusId(absl::string_view device) {
  if (at::getNumGPUs() == 0) return "";
  using GetBusId = int (*)(char* id, int length, int device);
  const auto get = reinterpret_cast<GetBusId>(dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId"));
  char id[32] = "";
  return get != nullptr && get(id, sizeof(id), DeviceIndex(device)) == 0 ? id : "";
}

}  // namespace rutile
