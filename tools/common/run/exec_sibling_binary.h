// Replaces a small, fast-starting program by a larger one beside it, which has what few runs need.

#ifndef RUTILE_TOOLS_COMMON_RUN_EXEC_SIBLING_BINARY_H_
#define RUTILE_TOOLS_COMMON_RUN_EXEC_SIBLING_BINARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Returns the path of the program `name` in the directory of this one's binary (links are followed). NOT_FOUND,
// beginning with `why`, if it is not there.
absl::StatusOr<std::string> SiblingBinary(const ToolRun& run, const std::string& name, absl::string_view why);

// Returns when this program started: the one that the user called, if that became this one by ExecSiblingBinary.
absl::Time ProgramStart();

// Replaces this process by that program, with the command of `run`, flag files expanded. Must be called before anything
// is written. Returns only on errors: CANCELLED after a signal; NOT_FOUND, beginning with `why` ("--verify needs
// LibTorch") and saying where the program was expected; others of exec.
absl::Status ExecSiblingBinary(const ToolRun& run, const std::string& name, absl::string_view why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_EXEC_SIBLING_BINARY_H_
