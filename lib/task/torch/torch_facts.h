// Finds what this program's LibTorch and the machine can do.

#ifndef RUTILE_LIB_TASK_TORCH_TORCH_FACTS_H_
#define RUTILE_LIB_TASK_TORCH_TORCH_FACTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/task/eager_options.h"

namespace rutile {

// Capabilities of LibTorch and the machine; tests replace them.
struct TorchFacts {
  std::string version;    // "1.13.0"
  bool has_cuda = false;  // built with CUDA, and its CUDA library is loaded
  int num_cuda_devices = 0;
  bool fuses_on_cpu = false;          // TorchScript, through LLVM
  std::string cpu_bf16;               // CpuBf16Instructions
  bool cpu_matmul_precision = false;  // whether float32_matmul_precision does anything on the CPU
};

TorchFacts FindTorchFacts();

// True if the device ("cuda", "cuda:N") multiplies bfloat16 (compute capability 8.0 and later). False without the
// device.
bool CudaHasBf16(absl::string_view device);

// Returns the device for a process of this rank on its machine: "cuda" becomes "cuda:N", modulo the number of devices
// if there are more processes than devices. Other devices, and "cuda" on a machine without one, are returned unchanged.
std::string DeviceOfProcess(absl::string_view device, int local_rank, const TorchFacts& facts);

// Returns the PCI bus id of "cuda:N" ("0000:3b:00.0"), which does not depend on CUDA_VISIBLE_DEVICES; "" without the
// device.
std::string CudaBusId(absl::string_view device);

// Returns INVALID_ARGUMENT, with what was found and what to do, if these options (CheckEagerOptions has passed) are
// beyond `facts`: no CUDA, no such device, or bf16-mixed on a CPU that would emulate it in fp32.
absl::Status CheckAgainstFacts(const EagerOptions& options, const TorchFacts& facts);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_TORCH_FACTS_H_
