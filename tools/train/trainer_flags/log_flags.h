// The flags of a run's logs.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_LOG_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_LOG_FLAGS_H_

#include "lib/train/options/trainer_options.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {

// --logger, --log_every_n_steps and --log_interval.
const SettingFlags<TrainerOptions>& LogFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_LOG_FLAGS_H_
