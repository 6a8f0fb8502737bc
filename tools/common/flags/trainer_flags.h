// The flags of the trainer, whatever the task.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_TRAINER_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_TRAINER_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// INVALID_ARGUMENT for a value out of range, and for a flag that has no effect beside the others.
absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_TRAINER_FLAGS_H_
