// Checks flags before gflags parses them, because gflags' messages ("ERROR: unknown command line flag 'rad_cutof'")
// name neither the tool nor what to write instead.

#ifndef RUTILE_TOOLS_COMMON_RUN_CHECK_ARGUMENTS_H_
#define RUTILE_TOOLS_COMMON_RUN_CHECK_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/common/run/flag_file.h"

namespace rutile {

// Sets the flags in `arguments`, up to "--". INVALID_ARGUMENT for the first flag that is not among `names` (the message
// lists similar ones), has no value, or has a value that its type or validator refuses (with the flag's help).
absl::Status CheckArguments(absl::Span<const Argument> arguments, absl::Span<const std::string> names);

// Returns up to three of `names` that a user may have meant by `word`, the most likely first.
std::vector<std::string> SimilarNames(absl::string_view word, absl::Span<const std::string> names);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_CHECK_ARGUMENTS_H_
