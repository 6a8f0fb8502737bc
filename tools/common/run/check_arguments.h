// What is wrong with flags, said before gflags sees them: its own words ("ERROR: unknown command line flag
// 'rad_cutof'") name neither the tool nor what to write instead.

#ifndef RUTILE_TOOLS_COMMON_RUN_CHECK_ARGUMENTS_H_
#define RUTILE_TOOLS_COMMON_RUN_CHECK_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/common/run/flag_file.h"

namespace rutile {

// INVALID_ARGUMENT for the first of `arguments`, up to "--", that is a flag not among `names` (with those that look
// like it), has no value, or one that its type or its validator refuses (with what the flag is). Sets the others.
absl::Status CheckArguments(absl::Span<const Argument> arguments, absl::Span<const std::string> names);

// Up to three of `names` that somebody may have meant by `word`, the likeliest first.
std::vector<std::string> SimilarNames(absl::string_view word, absl::Span<const std::string> names);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_CHECK_ARGUMENTS_H_
