// The part of torch_facts.h that needs no LibTorch: what follows from the facts.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/device_name.h"
#include "lib/task/precision.h"
#include "lib/task/torch/torch_facts.h"

namespace rutile {
namespace {

bool IsThere(absl::string_view device, const TorchFacts& facts) {
  const absl::StatusOr<DeviceName> name = ParseDeviceName(device);
  return !name.ok() || name->number.value_or(-1) < facts.num_cuda_devices;
}

}  // namespace

std::string DeviceOfProcess(absl::string_view device, int local_rank, const TorchFacts& facts) {
  if (device != "cuda" || facts.num_cuda_devices == 0) return std::string(device);
  return absl::StrCat("cuda:", local_rank % facts.num_cuda_devices);
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
    if (!IsThere(options.device, facts)) {
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
  if (options.matmul != FactorRounding::kNone && !facts.cpu_matmul_precision) {
    return absl::InvalidArgumentError(
        absl::StrCat("float32_matmul_precision ", kMatmulPrecisionNames.Name(options.matmul),
                     " does nothing on the CPU with ", torch, ": leave it out, or use LibTorch 2 or a CUDA device"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
