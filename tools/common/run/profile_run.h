// Profiles a tool's run for --timing and RUTILE_PROFILE_DIR. RunTool does so for every tool.

#ifndef RUTILE_TOOLS_COMMON_RUN_PROFILE_RUN_H_
#define RUTILE_TOOLS_COMMON_RUN_PROFILE_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/profile/record.h"

namespace rutile {

// Starts profiling if --timing or RUTILE_PROFILE_DIR requests it.
void StartProfiledRun();

// What is left to do after profiling.
struct ProfiledRun {
  std::string table;    // to print on stderr; "" without --timing
  absl::Status status;  // of writing the record
};

// Stops profiling and writes the record if RUTILE_PROFILE_DIR requests it.
ProfiledRun FinishProfiledRun(const std::string& tool, const std::vector<std::string>& command, int exit_status);

// Sets the source of the record's operators, for tools with LibTorch. FinishProfiledRun calls it.
void SetProfileOperators(std::function<std::vector<ProfileOperator>()> source);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_PROFILE_RUN_H_
