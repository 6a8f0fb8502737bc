// That a program which continues the work of another (sibling_binary.h) was built with it: a tool and the program
// beside it may come from different installations, and one that is older would do the work in its own way without a
// word.

#ifndef RUTILE_TOOLS_COMMON_RUN_SAME_BUILD_H_
#define RUTILE_TOOLS_COMMON_RUN_SAME_BUILD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rutile {

// The environment variable by which the first program tells the second what it is.
inline constexpr char kBuildVariable[] = "RUTILE_BUILD";

// Returns the version and a checksum of the tool's flags with their defaults and help, in which builds differ.
std::string BuildIdentity();

// INVALID_ARGUMENT if another program has started this one, `name`, and is of another build. Takes the variable out of
// the environment.
absl::Status CheckSameBuild(absl::string_view name);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_SAME_BUILD_H_
