// The flags of train that say how much is prepared before the first step: presets of --compile_mode=compile.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_COMPILE_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_COMPILE_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// For batches as `trainer` says. INVALID_ARGUMENT naming a flag that has no effect beside the others.
absl::StatusOr<CompileOptions> CompileOptionsFromFlags(const TrainerOptions& trainer);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_COMPILE_FLAGS_H_
