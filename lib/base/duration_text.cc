#include "lib/base/duration_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace rutile {

absl::StatusOr<absl::Duration> ParseDurationText(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  absl::Duration duration;
  if (parts.size() == 1) {
    if (absl::ParseDuration(std::string(text), &duration) && duration > absl::ZeroDuration()) return duration;
  } else if (parts.size() == 4) {
    int64_t days, hours, minutes, seconds;
    if (absl::SimpleAtoi(parts[0], &days) && absl::SimpleAtoi(parts[1], &hours) &&
        absl::SimpleAtoi(parts[2], &minutes) && absl::SimpleAtoi(parts[3], &seconds) && days >= 0 && hours >= 0 &&
        minutes >= 0 && seconds >= 0) {
      duration = absl::Hours(24) * days + absl::Hours(hours) + absl::Minutes(minutes) + absl::Seconds(seconds);
      if (duration > absl::ZeroDuration()) return duration;
    }
  }
  return absl::InvalidArgumentError("expected DD:HH:MM:SS or a duration as in 1h30m, above 0");
}

std::string DurationText(absl::Duration duration) {
  return duration == absl::InfiniteDuration() ? "" : absl::FormatDuration(duration);
}

}  // namespace rutile
