// The flags that make batches of examples of like size.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_BUCKET_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_BUCKET_FLAGS_H_

#include "lib/train/options/trainer_options.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {

// --bucket_by_size and --bucket_window.
const SettingFlags<TrainerOptions>& BucketFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_BUCKET_FLAGS_H_
