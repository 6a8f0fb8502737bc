// The flags of the trainer, whatever the task: optimiser, schedule, limits, split.

#ifndef RUTILE_TOOLS_COMMON_TRAINER_FLAGS_H_
#define RUTILE_TOOLS_COMMON_TRAINER_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/train/split.h"
#include "lib/train/trainer_options.h"

namespace rutile {

// INVALID_ARGUMENT for a value out of range, and for a flag that has no effect beside the others.
absl::StatusOr<TrainerOptions> TrainerOptionsFromFlags();

// --output_dir.
std::string OutputDirFromFlags();

// From --validation_fraction, --test_fraction, --split_seed, --validation_frames, --test_frames, --validation_key and
// --test_key. `mask(key, pattern)` tells which examples have a value of that key that fits the glob.
absl::StatusOr<SplitOptions> SplitOptionsFromFlags(
    const std::function<absl::StatusOr<std::vector<bool>>(absl::string_view key, absl::string_view pattern)>& mask);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_TRAINER_FLAGS_H_
