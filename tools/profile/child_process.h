// Runs a command as a child process with limits, and measures its time and memory.

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

// Limits of the command, and where its output goes.
struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // added to our environment
  absl::Duration max_time = absl::InfiniteDuration();            // SIGTERM after that time
  absl::Duration grace = absl::Seconds(20);                      // SIGKILL that long after a signal
  int64_t memory_limit = 0;         // SIGKILL if the command's own process has more resident bytes; 0: no limit
  std::string output, messages;     // files for standard output and standard error; empty: ours
  bool output_to_messages = false;  // standard output goes where standard error goes
  std::function<bool()> done;       // called ten times a second; SIGKILL when it returns true
};

// How the command ended, and what it used.
struct ChildResult {
  int exit_status = 0;         // 128 + n after signal n
  int64_t pid = 0;             // of the command's own process
  int64_t start_unix_ns = 0;   // start of that process
  int64_t end_unix_ns = 0;     // its end, as soon as that was seen; 0: left running
  bool cut = false;            // ended by max_time
  bool over_memory = false;    // ended by memory_limit
  bool done = false;           // ended by options.done
  double wall_s = 0;           // from start to the end of the last process
  double cpu_s = 0;            // of all processes of the command
  int64_t peak_rss_bytes = 0;  // of the largest of its processes
};

// Runs the command to its end, in its own process group. SIGINT, SIGTERM and SIGUSR1 that arrive meanwhile
// (InterruptSignal) are passed on to the group; afterward the caller checks InterruptSignal. If kill -9 ends us, the
// command gets SIGTERM. Processes that the command leaves behind are waited for, two seconds at most. NOT_FOUND if
// there is no such command, PERMISSION_DENIED if it cannot be run; other errors are those of starting it.
absl::StatusOr<ChildResult> RunChild(const std::vector<std::string>& command, const ChildOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_CHILD_PROCESS_H_
