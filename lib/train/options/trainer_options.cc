#include "lib/train/options/trainer_options.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/settings.h"
#include "lib/base/status_macros.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/task/precision.h"
#include "lib/task/sampling_policy.h"
#include "lib/train/options/trainer_settings.h"

namespace rutile {
namespace {

// Pairs that cannot work together.
absl::Status CheckCombinations(const TrainerOptions& options) {
  if (!options.overfit_batches.all() && !options.limit_train_batches.all()) {
    return absl::InvalidArgumentError(
        "overfit_batches and limit_train_batches exclude each other: both choose the batches to train on");
  }
  if (!options.overfit_batches.all() && options.sampling_policy != SamplingPolicy::kUniform) {
    return absl::InvalidArgumentError(
        "overfit_batches trains on the same batches in each epoch: use sampling_policy uniform");
  }
  if (options.files != RunFiles::kAll && options.mode == RunMode::kResume) {
    return absl::InvalidArgumentError("a run without checkpoints cannot be resumed");
  }
  if (!options.resume_from.empty() && options.mode != RunMode::kResume) {
    return absl::InvalidArgumentError(
        absl::StrCat("resume_from is \"", options.resume_from, "\": it has no effect on a run that is not resumed"));
  }
  if (!options.overrides.empty() && options.mode != RunMode::kResume && options.mode != RunMode::kResumeOrNew) {
    return absl::InvalidArgumentError("overrides have no effect on a run that is not resumed");
  }
  if (options.optimizer.kind != OptimizerKind::kLbfgs) return absl::OkStatus();
  struct Refusal {
    bool is_set;
    absl::string_view text;
  };
  for (const Refusal& refusal : {
           Refusal{options.gradient_clip_val > 0,
                   "gradient_clip_val does not go with lbfgs, whose line search needs the gradient"},
           Refusal{options.accumulate_grad_batches > 1,
                   "accumulate_grad_batches does not go with lbfgs, which takes all examples at once anyway"},
           Refusal{!options.limit_train_batches.all(),
                   "limit_train_batches does not go with lbfgs, which takes all examples at once"},
           Refusal{options.ema.has_value(), "ema does not go with lbfgs, whose steps are few and long"},
           Refusal{!options.overfit_batches.all(),
                   "overfit_batches does not go with lbfgs, which takes all examples at once"},
           Refusal{options.validation.fraction < 1,
                   "val_check_interval as a share of an epoch does not go with lbfgs, whose epoch is one step"},
       }) {
    if (refusal.is_set) return absl::InvalidArgumentError(refusal.text);
  }
  return absl::OkStatus();
}

absl::Status CheckSampling(const TrainerOptions& options) {
  if (options.sampling_policy == SamplingPolicy::kUniform) return absl::OkStatus();
  const std::string chosen = absl::StrCat("sampling_policy ", kSamplingPolicyNames.Name(options.sampling_policy));
  if (options.optimizer.kind == OptimizerKind::kLbfgs) {
    return absl::InvalidArgumentError(
        absl::StrCat(chosen, " does not go with lbfgs, which takes all examples at once; use uniform"));
  }
  if (!options.shuffle) {
    return absl::InvalidArgumentError(
        absl::StrCat(chosen, " draws the order at random: it does not go with shuffle off; use uniform"));
  }
  if (options.sampling_policy == SamplingPolicy::kErrorWeighted && options.compile_mode != CompileMode::kCompile) {
    return absl::InvalidArgumentError(
        absl::StrCat(chosen, " takes the errors that the task's own kernels see: use compile_mode compile"));
  }
  return absl::OkStatus();
}

absl::Status CheckEagerSuitsMode(const TrainerOptions& options) {
  const EagerOptions& eager = options.eager;
  RETURN_IF_ERROR(CheckEagerOptions(eager));
  if (options.compile_mode == CompileMode::kCompile) {
    const absl::string_view why = "compile_mode compile, whose kernels compute in the parameters' type on the CPU; use";
    if (IsMixed(eager.precision)) {
      return absl::InvalidArgumentError(absl::StrCat("precision ", kPrecisionNames.Name(eager.precision),
                                                     " does not go with ", why, " compile_mode none or script"));
    }
    if (eager.matmul != FactorRounding::kNone) {
      return absl::InvalidArgumentError(absl::StrCat("float32_matmul_precision ",
                                                     kMatmulPrecisionNames.Name(eager.matmul), " does not go with ",
                                                     why, " compile_mode none or script"));
    }
    if (!eager.on_cpu()) {
      return absl::InvalidArgumentError(absl::StrCat("device ", eager.device, " does not go with ", why,
                                                     " compile_mode none or script, or device cpu"));
    }
  }
  if (options.optimizer.kind == OptimizerKind::kLbfgs && IsMixed(eager.precision)) {
    return absl::InvalidArgumentError(absl::StrCat("precision ", kPrecisionNames.Name(eager.precision),
                                                   " does not go with lbfgs, whose line search needs exact gradients"));
  }
  return absl::OkStatus();
}

absl::Status CheckBuckets(const TrainerOptions& options) {
  if (!options.bucket_by_size) return absl::OkStatus();
  if (options.optimizer.kind == OptimizerKind::kLbfgs) {
    return absl::InvalidArgumentError("bucket_by_size does not go with lbfgs, which takes all examples at once");
  }
  if (!options.overfit_batches.all()) {
    return absl::InvalidArgumentError("bucket_by_size does not go with overfit_batches, which are never shuffled");
  }
  if (options.shuffle) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "bucket_by_size orders batches at random: it does not go with shuffle off, where the order is given");
}

// Groups included.
bool Averages(const TrainerOptions& options) {
  constexpr OptimizerKind kAverages = OptimizerKind::kScheduleFreeAdamW;
  const std::vector<ParameterGroup>& groups = options.groups.groups;
  return options.optimizer.kind == kAverages ||
         std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.optimizer.kind == kAverages; });
}

}  // namespace

EagerOptions EagerOptionsOf(const TrainerOptions& options) {
  EagerOptions eager = options.eager;
  eager.script = options.compile_mode == CompileMode::kScript;
  return eager;
}

absl::Status CheckShardModel(const TrainerOptions& options) {
  if (options.communicator == nullptr) {
    return absl::InvalidArgumentError("a model in parts needs several processes: start more, or leave it whole");
  }
  if (options.compile_mode != CompileMode::kCompile) {
    return absl::InvalidArgumentError(
        absl::StrCat("compile_mode is ", kCompileModeNames.Name(options.compile_mode),
                     ", which differentiates whole models: for one in parts (strategy tensor_parallel) use compile"));
  }
  if (options.optimizer.kind == OptimizerKind::kLbfgs) {
    return absl::InvalidArgumentError(
        "a model in parts (strategy tensor_parallel) does not go with lbfgs, whose line search moves all parameters at "
        "once; use adam");
  }
  if (options.optimizer.kind == OptimizerKind::kRowwiseAdagrad) {
    return absl::InvalidArgumentError(
        "a model in parts (strategy tensor_parallel) does not go with rowwise-adagrad, whose state is of rows and is "
        "not "
        "divided with them: use strategy ddp, or adagrad");
  }
  if (!options.groups.groups.empty()) {
    return absl::InvalidArgumentError(
        "a model in parts (strategy tensor_parallel) does not go with parameter groups, which divide it otherwise: use "
        "strategy ddp, or no groups");
  }
  return absl::OkStatus();
}

absl::Status CheckTrainerOptions(const TrainerOptions& options) {
  absl::Status in_range;
  ForEachSettings(options, [&](const auto& table, const auto& part) { in_range.Update(CheckRanges(table, part)); });
  RETURN_IF_ERROR(in_range);
  RETURN_IF_ERROR(CheckOptimizerOptions(options.optimizer));
  RETURN_IF_ERROR(CheckParameterGroupOptions(options.groups, options.optimizer));
  RETURN_IF_ERROR(CheckScheduleOptions(options.schedule));
  RETURN_IF_ERROR(CheckStopOptions(options.stop));
  RETURN_IF_ERROR(CheckValidationOptions(options.validation));
  RETURN_IF_ERROR(CheckBatchLimit("limit_train_batches", options.limit_train_batches));
  RETURN_IF_ERROR(CheckBatchLimit("limit_val_batches", options.limit_val_batches));
  RETURN_IF_ERROR(CheckBatchLimit("overfit_batches", options.overfit_batches));
  RETURN_IF_ERROR(CheckEagerSuitsMode(options));
  if (options.communicator != nullptr && options.sampling_policy == SamplingPolicy::kErrorWeighted) {
    return absl::InvalidArgumentError(
        "sampling_policy error_weighted needs the errors of all examples, and each of several processes knows its own "
        "alone; use energy_weighted, or one process");
  }
  if (options.shard_model) RETURN_IF_ERROR(CheckShardModel(options));
  if (options.ema.has_value()) RETURN_IF_ERROR(CheckEmaOptions(*options.ema));
  if (options.ema.has_value() && Averages(options)) {
    return absl::InvalidArgumentError(
        "ema does not go with schedule-free-adamw, which evaluates an average of its own; leave one of them out");
  }
  if (options.log_every_n_steps > 0 && options.log_formats.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("log_every_n_steps is ", options.log_every_n_steps, ", but there is no logger: choose one"));
  }
  if (options.keep_every_time <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("keep_every_time is ", absl::FormatDuration(options.keep_every_time),
                                                   ", expected a time above 0"));
  }
  // Options that no flag sets, which have no row.
  for (const auto& [name, value] :
       {std::make_pair("gradient_tolerance", options.gradient_tolerance),
        std::make_pair("check_cost", options.check_cost),
        std::make_pair("validation_batch_size", static_cast<double>(options.validation_batch_size))}) {
    if (std::isfinite(value) && value >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, ", expected 0 or more"));
  }
  if (!options.left_out.empty() && options.sampling_policy == SamplingPolicy::kErrorWeighted) {
    return absl::InvalidArgumentError(
        "sampling_policy error_weighted needs the errors of all examples, and those that a subset leaves out have "
        "none; "
        "use uniform or energy_weighted");
  }
  if (!options.left_out.empty() && !options.overfit_batches.all()) {
    return absl::InvalidArgumentError(
        "overfit_batches and a subset of the training examples exclude each other: both say what is trained on");
  }
  RETURN_IF_ERROR(CheckCombinations(options));
  RETURN_IF_ERROR(CheckBuckets(options));
  return CheckSampling(options);
}

}  // namespace rutile
