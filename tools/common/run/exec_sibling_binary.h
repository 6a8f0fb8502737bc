// A tool of two programs: the small one that is called, and one beside it that has what few runs need.

#ifndef RUTILE_TOOLS_COMMON_RUN_EXEC_SIBLING_BINARY_H_
#define RUTILE_TOOLS_COMMON_RUN_EXEC_SIBLING_BINARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// The same process goes on as the program `name` in the directory of this one, which is found through links, from its
// beginning, with the command of `run`, flag files expanded. To be called before anything is written. Returns only
// where that is not possible: CANCELLED after a signal; NOT_FOUND, which begins with `why` ("--verify needs LibTorch")
// and says where the program was expected; others of exec.
absl::Status ExecSiblingBinary(const ToolRun& run, const std::string& name, absl::string_view why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_EXEC_SIBLING_BINARY_H_
