// The flags that choose validation and test examples.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/train/options/split.h"

namespace rutile {

// From --validation_fraction, --test_fraction, --split_seed, --validation_frames, --test_frames, --validation_key and
// --test_key. `mask(key, pattern)` tells which examples have a value of that key that fits the glob; `listed(path)`
// reads a list of examples and returns their places in the data.
absl::StatusOr<SplitOptions> SplitOptionsFromFlags(
    const std::function<absl::StatusOr<std::vector<bool>>(absl::string_view key, absl::string_view pattern)>& mask,
    const std::function<absl::StatusOr<std::vector<int64_t>>(const std::string& path)>& listed);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_SPLIT_FLAGS_H_
