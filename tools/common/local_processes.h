// The same command in several processes on this machine, as torchrun would start them.

#ifndef RUTILE_TOOLS_COMMON_LOCAL_PROCESSES_H_
#define RUTILE_TOOLS_COMMON_LOCAL_PROCESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace rutile {

// Runs this program `size` times with `command` (command[0] is its name) and torchrun's variables (RANK, WORLD_SIZE,
// MASTER_PORT...) in the environment, each from its beginning: nothing of this process but its open files goes over.
// Signals that InstallInterruptHandlers waits for are handed on. When one process fails, the others get
// `failure_signal` (0: none), have `grace` to end by themselves and are then killed. The result is 0, or the exit
// status of the first that failed (128 + signal). The processes end when this one dies. Errors: those of starting them.
absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& command, int size, absl::Duration grace,
                                      int failure_signal = 0);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_LOCAL_PROCESSES_H_
