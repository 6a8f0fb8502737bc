// One page on what processes did, as text and as tables for scripts.

#ifndef RUTILE_TOOLS_PROFILE_PAGES_PROFILE_PAGE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_PROFILE_PAGE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/profile/machine_peaks.h"
#include "lib/profile/record.h"

namespace rutile {

// What was run, and what it left.
struct CommandProfile {
  std::vector<std::string> command;
  double wall_s = 0;  // from the start to the end of the command, as the system tells
  double cpu_s = 0;   // of all its processes
  int exit_status = 0;
  bool cut = false;                    // by --max_time
  std::vector<ProfileRecord> records;  // by start
  std::vector<std::string> notes;      // of what is missing or damaged, for people
};

// The page: the machine; each process with its stages, bottleneck and advice. At most max_stages stages a thread; what
// is left over is one line. No line is longer than its texts make it.
std::string ProfilePage(const CommandProfile& run, const MachinePeaks& peaks, int max_stages);

// A row for each process, thread and stage:
//   process, tool, pid, thread, stage, calls, self[s], total[s], share[%], examples, structures, atoms, pairs,
//   triplets, triples, flop, bytes, flop_rate[Gflop/s], byte_rate[GB/s], intensity[flop/B], limit_share[%],
//   peak_rss[B], allocations
// What is not known is empty.
std::string StagesTsv(const CommandProfile& run, const MachinePeaks& peaks);

// "train --hidden=15,15 data": at most `width` characters.
std::string CommandText(const std::vector<std::string>& command, int width);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_PROFILE_PAGE_H_
