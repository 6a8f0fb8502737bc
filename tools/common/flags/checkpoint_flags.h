// The flags of what a run writes, and of going on with one.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_CHECKPOINT_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_CHECKPOINT_FLAGS_H_

#include <string>

#include "absl/status/status.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// --output_dir.
std::string OutputDirFromFlags();

// Sets mode, save_interval and which checkpoints are kept. INVALID_ARGUMENT naming the flag.
absl::Status CheckpointOptionsFromFlags(TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_CHECKPOINT_FLAGS_H_
