// The flags that make batches of examples of like size.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_BUCKET_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_BUCKET_FLAGS_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace rutile {

// TrainerOptions::bucket_window. INVALID_ARGUMENT for a window below 1, and for one without --bucket_by_size.
absl::StatusOr<int64_t> BucketWindowFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_BUCKET_FLAGS_H_
