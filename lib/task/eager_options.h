// How LibTorch's operations and autograd compute a task's losses, where the task's own kernels do not.

#ifndef RUTILE_LIB_TASK_EAGER_OPTIONS_H_
#define RUTILE_LIB_TASK_EAGER_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// The type in which networks multiply. Parameters, losses, sums and the state of optimizers stay as they are.
enum class MixedPrecision { kNone, kBf16, kFp16 };

// What multiplying fp32 matrices may leave out: "high" is TF32 on GPUs, "medium" bfloat16.
enum class MatmulPrecision { kHighest, kHigh, kMedium };

struct EagerOptions {
  MixedPrecision mixed = MixedPrecision::kNone;
  MatmulPrecision matmul = MatmulPrecision::kHighest;  // of the whole process
  bool script = false;                                 // networks as TorchScript
  std::string device = "cpu";                          // "cpu", "cuda" (the current one) or "cuda:N"

  bool on_cpu() const { return device == "cpu"; }
  bool plain() const { return mixed == MixedPrecision::kNone && !script && on_cpu(); }
};

absl::string_view MixedPrecisionName(MixedPrecision mixed);                    // "none", "bf16-mixed", "fp16-mixed"
absl::string_view MatmulPrecisionName(MatmulPrecision precision);              // "highest", "high", "medium"
absl::StatusOr<MatmulPrecision> ParseMatmulPrecision(absl::string_view name);  // INVALID_ARGUMENT naming the choices

// INVALID_ARGUMENT for what excludes each other, and for a device that has no such form: true of any machine. What this
// machine and this LibTorch can do is torch_facts.h's matter.
absl::Status CheckEagerOptions(const EagerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EAGER_OPTIONS_H_
