// Reads a flag whose text is one of the names of an enum: the program sees the enum, and the text nowhere else.

#ifndef RUTILE_TOOLS_COMMON_RUN_FLAG_CHOICE_H_
#define RUTILE_TOOLS_COMMON_RUN_FLAG_CHOICE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/enum_names.h"

namespace rutile {

// INVALID_ARGUMENT: "--known=none: expected keep or drop". The empty name is called "nothing".
absl::Status NoChoice(absl::string_view flag, absl::string_view text, absl::Span<const absl::string_view> names);

// Returns the value that the flag's text names. INVALID_ARGUMENT: NoChoice.
template <typename T>
absl::StatusOr<T> ParseFlagChoice(absl::string_view flag, absl::string_view text, const EnumNames<T>& names) {
  absl::StatusOr<T> value = names.Parse(text);
  if (!value.ok()) return NoChoice(flag, text, names.names());
  return value;
}

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_FLAG_CHOICE_H_
