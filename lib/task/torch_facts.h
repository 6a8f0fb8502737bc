// What the LibTorch of this program and the machine under it can do.

#ifndef RUTILE_LIB_TASK_TORCH_FACTS_H_
#define RUTILE_LIB_TASK_TORCH_FACTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/task/eager_options.h"

namespace rutile {

struct TorchFacts {
  std::string version;    // "1.13.0"
  bool has_cuda = false;  // built with CUDA, and its CUDA library is loaded
  int num_cuda_devices = 0;
  bool fuses_on_cpu = false;          // TorchScript, through LLVM
  std::string cpu_bf16;               // CpuBf16Instructions
  bool cpu_matmul_precision = false;  // whether float32_matmul_precision does anything on the CPU
};

TorchFacts FindTorchFacts();

// Whether the device ("cuda", "cuda:N") multiplies bfloat16: compute capability 8.0 and later. False without it.
bool CudaHasBf16(absl::string_view device);

// The device for the process of this number on its machine: "cuda" becomes "cuda:N", again from the first where there
// are more processes than devices. Others, and "cuda" where there is none, stay as they are.
std::string DeviceOfProcess(absl::string_view device, int local_rank, const TorchFacts& facts);

// Which of the machine's devices "cuda:N" is, whatever CUDA_VISIBLE_DEVICES leaves of them: "0000:3b:00.0"; "" without
// it.
std::string CudaBusId(absl::string_view device);

// INVALID_ARGUMENT, with what was found and what to do, when these options (CheckEagerOptions has passed) are beyond
// `facts`: no CUDA, no such device, bf16-mixed on a CPU that would compute it step by step in fp32.
absl::Status CheckAgainstFacts(const EagerOptions& options, const TorchFacts& facts);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_TORCH_FACTS_H_
