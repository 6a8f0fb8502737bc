// The part of device_step.h that needs no LibTorch.

#include <string>

#include "lib/train/step/device_step.h"

namespace rutile {

std::string WhyHostSteps(const TrainerOptions& options, bool alone) {
  if (options.compile_mode == CompileMode::kCompile) return "the task's kernels run on the host";
  if (options.eager.on_cpu() && !options.device_steps_on_cpu) return "the host is the device";
  if (!alone) return "processes add up their gradients";
  if (options.optimizer.kind == OptimizerKind::kLbfgs) return "lbfgs evaluates the loss as often as it needs";
  if (options.groups.alternate_steps > 0) return "parameter groups take turns";
  if (options.groups.lazy_rows) return "rows are updated lazily";
  return "";
}

}  // namespace rutile
