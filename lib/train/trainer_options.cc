#include "lib/train/trainer_options.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/task/sampling_policy.h"

namespace rutile {
namespace {

absl::Status AtLeast(int64_t value, int64_t least, absl::string_view option) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " is ", value, ", expected ", least, " or more"));
}

absl::Status CheckSampling(const TrainerOptions& options) {
  if (options.sampling_policy == SamplingPolicy::kUniform) return absl::OkStatus();
  const std::string chosen = absl::StrCat("sampling_policy ", SamplingPolicyName(options.sampling_policy));
  if (options.optimizer.kind == OptimizerKind::kLbfgs) {
    return absl::InvalidArgumentError(
        absl::StrCat(chosen, " does not go with lbfgs, which takes all examples at once; use uniform"));
  }
  if (!options.shuffle) {
    return absl::InvalidArgumentError(
        absl::StrCat(chosen, " draws the order at random: it does not go with shuffle off; use uniform"));
  }
  if (options.sampling_policy == SamplingPolicy::kErrorWeighted && options.compile_mode == CompileMode::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat(chosen, " takes the errors that the task's own kernels see: use compile_mode compile"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view CompileModeName(CompileMode mode) { return mode == CompileMode::kNone ? "none" : "compile"; }

absl::StatusOr<CompileMode> ParseCompileMode(absl::string_view name) {
  for (const CompileMode mode : {CompileMode::kNone, CompileMode::kCompile}) {
    if (CompileModeName(mode) == name) return mode;
  }
  return absl::InvalidArgumentError(absl::StrCat("no compile mode \"", name, "\"; the choices are none, compile"));
}

absl::Status CheckTrainerOptions(const TrainerOptions& options) {
  RETURN_IF_ERROR(CheckOptimizerOptions(options.optimizer));
  RETURN_IF_ERROR(CheckParameterGroupOptions(options.groups, options.optimizer));
  RETURN_IF_ERROR(CheckScheduleOptions(options.schedule));
  RETURN_IF_ERROR(CheckStopOptions(options.stop));
  RETURN_IF_ERROR(AtLeast(options.batch_size, 1, "batch_size"));
  RETURN_IF_ERROR(AtLeast(options.validation_batch_size, 0, "validation_batch_size"));
  RETURN_IF_ERROR(AtLeast(options.num_workers, 0, "num_workers"));
  RETURN_IF_ERROR(AtLeast(options.prefetch_factor, 1, "prefetch_factor"));
  RETURN_IF_ERROR(AtLeast(options.keep_every_epochs, 0, "keep_every_epochs"));
  for (const auto& [name, value] : {std::make_pair("gradient_clip_norm", options.gradient_clip_norm),
                                    std::make_pair("gradient_tolerance", options.gradient_tolerance),
                                    std::make_pair("check_cost", options.check_cost)}) {
    if (std::isfinite(value) && value >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, ", expected 0 or more"));
  }
  if (options.optimizer.kind == OptimizerKind::kLbfgs && options.gradient_clip_norm > 0) {
    return absl::InvalidArgumentError(
        "gradient_clip_norm does not go with lbfgs, whose line search needs the gradient");
  }
  return CheckSampling(options);
}

}  // namespace rutile
