// How LibTorch's operations and autograd compute a task's losses, where the task's own kernels do not.

#ifndef RUTILE_LIB_TASK_EAGER_OPTIONS_H_
#define RUTILE_LIB_TASK_EAGER_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/precision.h"

namespace rutile {

// Options of EagerGradients; the default is plain fp32 or fp64 on the CPU.
struct EagerOptions {
  // The networks' products have kBf16Mixed or kFp16Mixed factors, or with kAuto the type of the parameters.
  Precision precision = Precision::kAuto;
  FactorRounding matmul = FactorRounding::kNone;  // applies to the whole process
  bool script = false;                            // networks run as TorchScript
  std::string device = "cpu";                     // "cpu", "cuda" (the current one) or "cuda:N"

  bool on_cpu() const { return device == "cpu"; }
  bool plain() const { return !IsMixed(precision) && !script && on_cpu(); }
};

// Returns INVALID_ARGUMENT for options that exclude each other or that the device does not have on any machine.
// CheckAgainstFacts of torch_facts.h checks what this machine and its LibTorch can do.
absl::Status CheckEagerOptions(const EagerOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_EAGER_OPTIONS_H_
