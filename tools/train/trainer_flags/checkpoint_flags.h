// The flags of what a run writes, and of going on with one.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_CHECKPOINT_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_CHECKPOINT_FLAGS_H_

#include <string>

#include "absl/status/status.h"
#include "lib/train/options/trainer_options.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {

// --output_dir.
std::string OutputDirFromFlags();

// --save_interval, --keep_every_epochs and the others that say which checkpoints there are.
const SettingFlags<TrainerOptions>& CheckpointFlags();

// Sets mode, resume_from and overrides. INVALID_ARGUMENT naming the flag.
absl::Status SetResumingFromFlags(TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_CHECKPOINT_FLAGS_H_
