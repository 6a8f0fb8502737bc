#include "tools/common/flags/duration_flag.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/duration_text.h"

namespace rutile {

absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view name, absl::string_view text) {
  absl::StatusOr<absl::Duration> duration = ParseDurationText(text);
  if (duration.ok()) return duration;
  return absl::InvalidArgumentError(absl::StrCat("--", name, "=", text, ": ", duration.status().message()));
}

}  // namespace rutile
