#include "tools/train/schedule_interval.h"

#include <gflags/gflags.h>

#include <optional>

#include "absl/status/statusor.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/run_plan.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {
namespace {

bool SpansRun(const ScheduleOptions& options) {
  return options.period == 0 && (options.kind == ScheduleKind::kLinear || options.kind == ScheduleKind::kCosine ||
                                 options.kind == ScheduleKind::kPolynomial);
}

// Returns what the run that goes on counted in; nullopt for a new run, and for one that had no schedule.
std::optional<bool> CountedSteps(const std::string& directory, const TrainerOptions& options) {
  const std::optional<CheckpointSummary> checkpoint = CheckpointOfRun(directory, options);
  if (!checkpoint.has_value()) return std::nullopt;
  if (const auto found = checkpoint->config.find("lr_interval"); found != checkpoint->config.end()) {
    return found->second == "step";
  }
  // Early versions wrote this.
  const auto found = checkpoint->config.find("lr_per_step");
  return found == checkpoint->config.end() ? std::nullopt : std::make_optional(found->second == "true");
}

}  // namespace

void SetScheduleInterval(const std::string& directory, const Split& split, TrainerOptions* options) {
  std::string interval;
  if (!SpansRun(options->schedule) || !gflags::GetCommandLineOption("lr_interval", &interval) || interval != "auto") {
    return;
  }
  if (const std::optional<bool> counted = CountedSteps(directory, *options); counted.has_value()) {
    options->schedule.per_step = *counted;
    return;
  }
  const absl::StatusOr<RunPlan> plan = MakeRunPlan(split, *options);
  if (!plan.ok() || plan->run_steps < 0) return;  // the trainer reports it
  const int64_t steps = plan->run_steps - plan->options.schedule.cooldown_steps;
  options->schedule.per_step = steps >= kLeastSteps && steps <= kMostEpochsBySteps * plan->steps_per_epoch;
}

}  // namespace rutile
