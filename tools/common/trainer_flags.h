// The flags of the trainer, whatever the task: optimiser, schedule, limits, split.

#ifndef RUTILE_TOOLS_COMMON_TRAINER_FLAGS_H_
#define RUTILE_TOOLS_COMMON_TRAINER_FLAGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/train/optimizer.h"
#include "lib/train/schedule.h"
#include "lib/train/split.h"
#include "lib/train/stop_rule.h"

namespace rutile {

absl::StatusOr<OptimizerOptions> OptimizerOptionsFromFlags();
absl::StatusOr<ScheduleOptions> ScheduleOptionsFromFlags();
absl::StatusOr<StopOptions> StopOptionsFromFlags();

// From --validation_fraction, --test_fraction, --split_seed, --validation_frames, --test_frames, --validation_key and
// --test_key. `mask(key, pattern)` tells which examples have a value of that key that fits the glob.
absl::StatusOr<SplitOptions> SplitOptionsFromFlags(
    const std::function<absl::StatusOr<std::vector<bool>>(absl::string_view key, absl::string_view pattern)>& mask);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_TRAINER_FLAGS_H_
