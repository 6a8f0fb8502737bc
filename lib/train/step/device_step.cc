#include "lib/train/step/device_step.h"

#include <algorithm>
#include <string>

namespace rutile {

std::string WhyHostSteps(const TrainerOptions& options, const Task& task, bool alone) {
  if (options.compile_mode == CompileMode::kCompile) {
    if (task.resident() == nullptr) return "the task's kernels leave gradients on the host";
  } else if (options.eager.on_cpu() && !options.device_steps_on_cpu) {
    return "the host is the device";
  }
  if (!alone) return "processes add up their gradients";
  if (options.optimizer.kind == OptimizerKind::kLbfgs) return "lbfgs evaluates the loss as often as it needs";
  if (options.groups.alternate_steps > 0) return "parameter groups take turns";
  if (options.groups.lazy_rows) return "rows are updated lazily";
  const auto of_rows = [](const OptimizerOptions& o) { return o.kind == OptimizerKind::kRowwiseAdagrad; };
  if (of_rows(options.optimizer) || std::any_of(options.groups.groups.begin(), options.groups.groups.end(),
                                                [&](const ParameterGroup& g) { return of_rows(g.optimizer); })) {
    return "the optimizer's state is of rows";
  }
  return "";
}

}  // namespace rutile
