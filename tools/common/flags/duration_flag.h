// Times on the command line.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_DURATION_FLAG_H_
#define RUTILE_TOOLS_COMMON_FLAGS_DURATION_FLAG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace rutile {

// "DD:HH:MM:SS", or as "1h30m"; above 0. INVALID_ARGUMENT naming the flag `name` otherwise.
absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view name, absl::string_view text);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_DURATION_FLAG_H_
