// Spans of time as users write them: "1h30m", "DD:HH:MM:SS".

#ifndef RUTILE_LIB_BASE_DURATION_TEXT_H_
#define RUTILE_LIB_BASE_DURATION_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace rutile {

// Reads "DD:HH:MM:SS" (days, hours, minutes, seconds) or a duration as "1h30m". INVALID_ARGUMENT for other text, and
// for a time that is not above 0: "expected DD:HH:MM:SS or a duration as in 1h30m, above 0".
absl::StatusOr<absl::Duration> ParseDurationText(absl::string_view text);

// "1h30m", which ParseDurationText reads, or "" for an infinite time: options say "no limit" so, and flags by no text.
std::string DurationText(absl::Duration duration);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_DURATION_TEXT_H_
