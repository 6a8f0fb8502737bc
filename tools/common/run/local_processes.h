// The same command in several processes on this machine, as torchrun would start them.

#ifndef RUTILE_TOOLS_COMMON_RUN_LOCAL_PROCESSES_H_
#define RUTILE_TOOLS_COMMON_RUN_LOCAL_PROCESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace rutile {

struct LocalProcessesOptions {
  int size = 1;
  // How long the others have to end by themselves when one has failed, before they are killed: while all have called
  // ReportJoined, and before.
  absl::Duration grace = absl::ZeroDuration();
  absl::Duration joining_grace = absl::InfiniteDuration();  // not longer than `grace` counts
  int failure_signal = 0;                                   // what the others get then; 0: none
};

// Runs this program `size` times with `command` (command[0] is its name) and torchrun's variables (RANK, WORLD_SIZE,
// MASTER_PORT...) in the environment, each from its beginning: nothing of this process but its open files goes over.
// Signals that InstallInterruptHandlers waits for are handed on. The result is 0, or the exit status of the first that
// failed (128 + signal). The processes end when this one dies. Errors: those of starting them.
absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& command, const LocalProcessesOptions& options);

// For a process that RunLocalProcesses has started, once it is connected to all others, so that it notices when one
// goes. Nothing happens in any other process.
void ReportJoined();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_LOCAL_PROCESSES_H_
