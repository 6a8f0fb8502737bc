// The flags of EagerSettings: --precision, --float32_matmul_precision, --device. What they come to on a machine is
// tools/train/flags/precision_flags.h's matter.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_EAGER_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_EAGER_FLAGS_H_

#include "lib/task/eager_options.h"
#include "tools/common/flags/setting_flags.h"

namespace rutile {

const SettingFlags<EagerOptions>& EagerFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_EAGER_FLAGS_H_
