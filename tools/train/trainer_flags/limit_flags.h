// The flags that say when training ends.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_LIMIT_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_LIMIT_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/train/options/stop_rule.h"

namespace rutile {

// Returns the limits at which a run ends. INVALID_ARGUMENT for a value out of range, and for a flag that has no effect
// beside the others.
absl::StatusOr<StopOptions> StopOptionsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_LIMIT_FLAGS_H_
