#include "lib/task/torch_facts.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/machine/cpu_bf16.h"
#include "lib/task/precision.h"

namespace torch::jit {
bool canFuseOnCPU();  // exported, but Debian does not ship its header
}

namespace rutile {
namespace {

// -1: "cuda", whichever is current.
int DeviceIndex(absl::string_view device) {
  int index = -1;
  if (absl::ConsumePrefix(&device, "cuda:") && !absl::SimpleAtoi(device, &index)) return -1;
  return index;
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
  return get != nullptr && get(&major, kComputeCapabilityMajor, std::max(0, DeviceIndex(device))) == 0 && major >= 8;
}

std::string DeviceOfProcess(absl::string_view device, int local_rank, const TorchFacts& facts) {
  if (device != "cuda" || facts.num_cuda_devices == 0) return std::string(device);
  return absl::StrCat("cuda:", local_rank % facts.num_cuda_devices);
}

std::string CudaBusId(absl::string_view device) {
  if (at::getNumGPUs() == 0) return "";
  using GetBusId = int (*)(char* id, int length, int device);
  const auto get = reinterpret_cast<GetBusId>(dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId"));
  char id[32] = "";
  return get != nullptr && get(id, sizeof(id), std::max(0, DeviceIndex(device))) == 0 ? id : "";
}

absl::Status CheckAgainstFacts(const EagerOptions& options, const TorchFacts& facts) {
  const std::string torch = absl::StrCat("this LibTorch ", facts.version);
  if (!options.on_cpu()) {
    const std::string device = absl::StrCat("device ", options.device, ": ");
    if (!facts.has_cuda) {
      return absl::InvalidArgumentError(
          absl::StrCat(device, torch, " has no CUDA; use cpu, or build with a LibTorch that has it (LIBTORCH=...)"));
    }
    if (facts.num_cuda_devices == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(device, torch, " has CUDA but finds no device; use cpu, or see what nvidia-smi says"));
    }
    if (DeviceIndex(options.device) >= facts.num_cuda_devices) {
      return absl::InvalidArgumentError(
          absl::StrCat(device, "the last of ", facts.num_cuda_devices, " is cuda:", facts.num_cuda_devices - 1));
    }
    return absl::OkStatus();
  }
  if (options.precision == Precision::kBf16Mixed && facts.cpu_bf16.empty()) {
    return absl::InvalidArgumentError(
        "precision bf16-mixed needs a CPU with AMX-BF16 or AVX512-BF16, or CUDA: this CPU has neither instruction and "
        "would be slower than in fp32; use fp32");
  }
  if (options.matmul != MatmulPrecision::kHighest && !facts.cpu_matmul_precision) {
    return absl::InvalidArgumentError(
        absl::StrCat("float32_matmul_precision ", kMatmulPrecisionNames.Name(options.matmul),
                     " does nothing on the CPU with ", torch, ": leave it out, or use LibTorch 2 or a CUDA device"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
