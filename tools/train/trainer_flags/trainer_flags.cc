#include "tools/train/trainer_flags/trainer_flags.h"

#include <gflags/gflags.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/train/options/trainer_settings.h"
#include "tools/common/flags/setting_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/train/trainer_flags/bucket_flags.h"
#include "tools/train/trainer_flags/checkpoint_flags.h"
#include "tools/train/trainer_flags/ema_flags.h"
#include "tools/train/trainer_flags/limit_flags.h"
#include "tools/train/trainer_flags/log_flags.h"
#include "tools/train/trainer_flags/optimizer_flags.h"
#include "tools/train/trainer_flags/schedule_flags.h"
#include "tools/train/trainer_flags/validation_flags.h"

DEFINE_int32(
    fast_dev_run, 0,
    "Try out one epoch of N batches. As many batches are validated, and nothing is written; 0 means an ordinary run.");
DEFINE_bool(
    barebones, false,
    "Train without progress, logs or files before the end of the run. Flags that ask for one of them are refused.");

namespace rutile {
namespace {

const SettingFlags<TrainerOptions>& Flags() {
  static const auto* flags = new SettingFlags<TrainerOptions>(TrainingSettings(), __FILE__);
  return *flags;
}

const bool registered = Flags().Register();

// Two flags that each stand for several settings of a run that only tries things out.
absl::Status DebugOptionsFromFlags(TrainerOptions* options) {
  if (FLAGS_fast_dev_run < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--fast_dev_run=", FLAGS_fast_dev_run, ": expected a number of batches, or 0 for off"));
  }
  if (FLAGS_barebones) {
    RETURN_IF_ERROR(RefuseFlags("with --barebones, which writes nothing before the end", {"fast_dev_run", "progress"}));
    options->files = RunFiles::kAtEnd;
  }
  if (FLAGS_fast_dev_run > 0) {
    RETURN_IF_ERROR(RefuseFlags("with --fast_dev_run, which says how much is done and writes nothing",
                                {"max_epochs", "max_steps", "min_epochs", "min_steps", "limit_train_batches",
                                 "limit_val_batches", "overfit_batches", "resume", "overwrite", "output_dir"}));
    options->stop.max_epochs = 1;
    options->limit_train_batches.batches = FLAGS_fast_dev_run;
    options->limit_val_batches.batches = FLAGS_fast_dev_run;
    options->files = RunFiles::kNone;
  }
  return absl::OkStatus();
}

// The schedule where --lr_scheduler leaves it open.
ScheduleKind OpenSchedule(const TrainerDefaults& defaults, OptimizerKind optimizer, const StopOptions& stop) {
  const bool is_free = optimizer == OptimizerKind::kLbfgs || optimizer == OptimizerKind::kScheduleFreeAdamW;
  const bool is_endless = stop.max_epochs < 0 && stop.max_steps < 0;
  return is_free || is_endless ? ScheduleKind::kConstant : defaults.schedule;
}

}  // namespace

absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags(const TrainerDefaults& defaults) {
  TrainerOptions options;
  options.batch_size = defaults.batch_size;
  ASSIGN_OR_RETURN(options.optimizer, OptimizerOptionsFromFlags(defaults.adam_learning_rate));
  ASSIGN_OR_RETURN(options.groups, ParameterGroupOptionsFromFlags(options.optimizer));
  ASSIGN_OR_RETURN(options.stop, StopOptionsFromFlags());
  ASSIGN_OR_RETURN(options.schedule,
                   ScheduleOptionsFromFlags(OpenSchedule(defaults, options.optimizer.kind, options.stop)));
  ASSIGN_OR_RETURN(options.ema, EmaOptionsFromFlags());
  ASSIGN_OR_RETURN(options.validation, ValidationOptionsFromFlags());
  RETURN_IF_ERROR(SetResumingFromFlags(&options));
  // Nobody asked for a schedule that spans the run, so that nobody need ask for its new length when a run is resumed
  // with other limits: train reports it.
  const bool is_open = !FlagGiven("lr_scheduler") && !FlagGiven("lr_period");
  if (is_open && options.schedule.kind != ScheduleKind::kConstant && options.mode != RunMode::kNew &&
      options.mode != RunMode::kOverwrite) {
    options.overrides.push_back("lr_period");
  }
  const SettingFlags<TrainerOptions>* const parts[] = {&Flags(), &BucketFlags(), &MonitorFlags(), &CheckpointFlags(),
                                                       &LogFlags()};
  for (const auto* part : parts) RETURN_IF_ERROR(part->CopyTo(&options));
  RETURN_IF_ERROR(DebugOptionsFromFlags(&options));
  for (const auto* part : parts) RETURN_IF_ERROR(part->RefuseUnused(options));
  if (options.files != RunFiles::kAll) options.log_formats.clear();
  RETURN_IF_ERROR(CheckTrainerOptions(options));
  return options;
}

}  // namespace rutile
