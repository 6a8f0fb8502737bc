// The table of the trainer's settings, in parts as --help groups them: names, ranges, what each needs to have an effect
// and what it means for a resumed run. Options structs inside TrainerOptions have tables of their own: StopSettings,
// ValidationSettings, and those of lib/optimizer.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_TRAINER_SETTINGS_H_
#define RUTILE_LIB_TRAIN_OPTIONS_TRAINER_SETTINGS_H_

#include "absl/types/span.h"
#include "lib/base/settings.h"
#include "lib/optimizer/averages/ema.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"
#include "lib/optimizer/schedule/schedule.h"
#include "lib/task/eager_settings.h"
#include "lib/train/options/stop_rule.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/options/validation_rule.h"

namespace rutile {

// Batches, gradients and threads: seed, batch_size, gradient_clip_val, compile_mode, num_workers, ...
absl::Span<const Setting<TrainerOptions>> TrainingSettings();
// Batches of examples of like size.
absl::Span<const Setting<TrainerOptions>> BucketSettings();
// What a validation looks at: limit_val_batches, monitor. ValidationSettings says when it comes.
absl::Span<const Setting<TrainerOptions>> MonitorSettings();
// What a run keeps: save_interval, keep_every_*, save_top_k, average_best.
absl::Span<const Setting<TrainerOptions>> CheckpointSettings();
absl::Span<const Setting<TrainerOptions>> LogSettings();

// What the record of a run has by other means than a value: the content of its inputs. --override knows it by the name.
absl::Span<const Setting<TrainerOptions>> InputSettings();
// The row of InputSettings for the training examples.
const SettingInfo& DataSetting();

// Calls visit(table, options) for each table of settings with its part of the options. Whatever concerns all settings
// of a run (checkpoints, config.json, resuming) goes through this list. The average's table comes only where
// options.ema is set.
template <typename Visit>
void ForEachSettings(const TrainerOptions& options, const Visit& visit) {
  visit(TrainingSettings(), options);
  visit(BucketSettings(), options);
  visit(OptimizerSettings(), options.optimizer);
  visit(ParameterGroupSettings(), options.groups);
  visit(ScheduleSettings(), options.schedule);
  if (options.ema.has_value()) visit(EmaSettings(), *options.ema);
  visit(ValidationSettings(), options.validation);
  visit(MonitorSettings(), options);
  visit(StopSettings(), options.stop);
  visit(CheckpointSettings(), options);
  visit(LogSettings(), options);
  visit(EagerSettings(), options.eager);
  visit(InputSettings(), options);
}

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_TRAINER_SETTINGS_H_
