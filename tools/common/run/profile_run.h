// --timing and RUTILE_PROFILE_DIR: a tool that says where its time went. RunTool does it for every tool.

#ifndef RUTILE_TOOLS_COMMON_RUN_PROFILE_RUN_H_
#define RUTILE_TOOLS_COMMON_RUN_PROFILE_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/profile/record.h"

namespace rutile {

// Turns profiling on where --timing or RUTILE_PROFILE_DIR wants it.
void StartProfiledRun();

struct ProfiledRun {
  std::string table;    // for stderr; "" without --timing
  absl::Status status;  // of writing the record
};

// Turns profiling off and writes the record that RUTILE_PROFILE_DIR wants.
ProfiledRun FinishProfiledRun(const std::string& tool, const std::vector<std::string>& command, int exit_status);

// Where the record's operators come from, for tools with LibTorch; asked by FinishProfiledRun.
void SetProfileOperators(std::function<std::vector<ProfileOperator>()> source);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_PROFILE_RUN_H_
