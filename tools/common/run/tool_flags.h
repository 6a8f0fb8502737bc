// The flags that are for users: those that files under tools/ define. gflags, glog and LibTorch register others.

#ifndef RUTILE_TOOLS_COMMON_RUN_TOOL_FLAGS_H_
#define RUTILE_TOOLS_COMMON_RUN_TOOL_FLAGS_H_

#include <gflags/gflags.h>

#include <vector>

#include "absl/strings/match.h"

namespace rutile {

// Returns them with their values of now, sorted by file, then name.
inline std::vector<gflags::CommandLineFlagInfo> ToolFlags() {
  std::vector<gflags::CommandLineFlagInfo> all, flags;
  gflags::GetAllFlags(&all);
  for (const gflags::CommandLineFlagInfo& flag : all) {
    if (absl::StartsWith(flag.filename, "tools/")) flags.push_back(flag);
  }
  return flags;
}

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_TOOL_FLAGS_H_
