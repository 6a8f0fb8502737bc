// The flags of validation: when, on how much, and which number decides.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_VALIDATION_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_VALIDATION_FLAGS_H_

#include "absl/status/status.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Sets validation, limit_val_batches and monitor. INVALID_ARGUMENT naming the flag, what was found and what is
// expected.
absl::Status ValidationOptionsFromFlags(TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_VALIDATION_FLAGS_H_
