// How LibTorch's operations and autograd compute a task's losses, where the task's own kernels do not.

#ifndef RUTILE_LIB_TASK_EAGER_OPTIONS_H_
#define RUTILE_LIB_TASK_EAGER_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// The type of factors in the networks' products. Parameters, losses, sums and the state of optimizers keep their type.
enum class MixedPrecision { kNone, kBf16, kFp16 };

// Reduced precision that products of fp32 matrices may use: "high" is TF32 on GPUs, "medium" is bfloat16.
enum class MatmulPrecision { kHighest, kHigh, kMedium };

// Options of EagerGradients; the default is plain fp32 or fp64 on the CPU.
struct EagerOptions {
  MixedPrecision mixed = MixedPrecision::kNone;
  MatmulPrecision matmul = MatmulPrecision::kHighest;  // applies to the whole process
  bool script = false;                                 // networks run as TorchScript
  std::string device = "cpu";                          // "cpu", "cuda" (the current one) or "cuda:N"

  bool on_cpu() const { return device == "cpu"; }
  bool plain() const { return mixed == MixedPrecision::kNone && !script && on_cpu(); }
};

absl::string_view MixedPrecisionName(MixedPrecision mixed);                    // "none", "bf16-mixed", "fp16-mixed"
absl::string_view MatmulPrecisionName(MatmulPrecision precision);              // "highest", "high", "medium"
absl::StatusOr<MatmulPrecision> ParseMatmulPrecision(absl::string_view name);  // INVALID_ARGUMENT naming the choices

// Returns INVALID_ARGUMENT for options that exclude each other or that the device does not have on any machine.
// CheckAgainstFacts of torch_facts.h checks what this machine and its LibTorch can do.
absl::Status CheckEagerOptions(const EagerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EAGER_OPTIONS_H_
