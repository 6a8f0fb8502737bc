// The flags that choose validation and test examples.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/train/options/split.h"

namespace rutile {

// From --validation_fraction, --test_fraction, --split_seed, --validation_frames, --test_frames, --validation_key and
// --test_key. `mask(key, pattern)` tells which examples have a value of that key that fits the glob.
absl::StatusOr<SplitOptions> SplitOptionsFromFlags(
    const std::function<absl::StatusOr<std::vector<bool>>(absl::string_view key, absl::string_view pattern)>& mask);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_
