// The flags of when a run validates, on what, and which value decides.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_VALIDATION_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_VALIDATION_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/train/options/trainer_options.h"
#include "lib/train/options/validation_rule.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {

// --check_val_every_n_epoch and --val_check_interval. INVALID_ARGUMENT naming the flag.
absl::StatusOr<ValidationOptions> ValidationOptionsFromFlags();

// --limit_val_batches and --monitor.
const SettingFlags<TrainerOptions>& MonitorFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_VALIDATION_FLAGS_H_
