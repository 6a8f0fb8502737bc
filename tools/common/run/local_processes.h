// Runs the same command in several processes on this machine, as torchrun does.

#ifndef RUTILE_TOOLS_COMMON_RUN_LOCAL_PROCESSES_H_
#define RUTILE_TOOLS_COMMON_RUN_LOCAL_PROCESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace rutile {

// How many processes to run, and how to end the others when one fails.
struct LocalProcessesOptions {
  int size = 1;
  // How long the others may take to end by themselves before they are killed: `grace` if all have called ReportJoined,
  // `joining_grace` before that.
  absl::Duration grace = absl::ZeroDuration();
  absl::Duration joining_grace = absl::InfiniteDuration();  // used only if shorter than `grace`
  int failure_signal = 0;                                   // sent to the others when one fails; 0: none
};

// Runs this program `size` times with `command` (command[0] is its name) and torchrun's variables (RANK, WORLD_SIZE,
// MASTER_PORT...) in the environment. Each process starts from the beginning and inherits nothing but open files.
// Signals that InstallInterruptHandlers handles are forwarded. Returns 0, or the exit status of the first process that
// failed (128 + signal). The processes end when this one dies. Errors: those of starting them.
absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& command, const LocalProcessesOptions& options);

// Must be called by a process that RunLocalProcesses has started once it is connected to all others, so that it notices
// when one dies. Does nothing in any other process.
void ReportJoined();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_LOCAL_PROCESSES_H_
