// A command as a child process: its time, memory and end, with limits.

#ifndef RUTILE_TOOLS_PROFILE_CHILD_PROCESS_H_
#define RUTILE_TOOLS_PROFILE_CHILD_PROCESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace rutile {

struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // beside ours
  absl::Duration max_time = absl::InfiniteDuration();            // then SIGTERM
  absl::Duration grace = absl::Seconds(20);                      // after a signal; then SIGKILL
  int64_t memory_limit = 0;         // resident bytes of the command's own process; SIGKILL when it has more. 0: none
  std::string output, messages;     // files for standard output and standard error; empty: ours
  bool output_to_messages = false;  // standard output goes where standard error goes
  std::function<bool()> done;       // asked ten times a second; true: SIGKILL, what was to be learned is known
};

struct ChildResult {
  int exit_status = 0;         // 128 + n after signal n
  int64_t pid = 0;             // of the command's own process
  int64_t start_unix_ns = 0;   // of it
  int64_t end_unix_ns = 0;     // of it, as soon as it was seen; 0: left running
  bool cut = false;            // by max_time
  bool over_memory = false;    // by memory_limit
  bool done = false;           // by options.done
  double wall_s = 0;           // from start to the end of the last process
  double cpu_s = 0;            // of all processes of the command
  int64_t peak_rss_bytes = 0;  // the largest of its processes
};

// Runs the command to its end, in a process group of its own. SIGINT, SIGTERM and SIGUSR1 that come meanwhile
// (InterruptSignal) are passed on to the group; afterward it is for the caller to look at InterruptSignal. Processes
// that the command leaves behind are waited for, two seconds at most. NOT_FOUND when there is no such command,
// PERMISSION_DENIED when it cannot be run; others: those of starting.
absl::StatusOr<ChildResult> RunChild(const std::vector<std::string>& command, const ChildOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_CHILD_PROCESS_H_
