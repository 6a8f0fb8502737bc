// Shows what processes did on one page of text, and as tables for scripts.
//
//   CommandProfile run;
//   run.command = {"train", "--hidden=16,16", "features.safetensors"};
//   run.wall_s = 12.5;
//   run.records = records;  // lib/profile reads them from RUTILE_PROFILE_DIR
//   std::cout << ProfilePage(run, peaks, /*max_stages=*/12);

#ifndef RUTILE_TOOLS_PROFILE_PAGES_PROFILE_PAGE_H_
#define RUTILE_TOOLS_PROFILE_PAGES_PROFILE_PAGE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/profile/machine_peaks.h"
#include "lib/profile/record.h"

namespace rutile {

// A command, how it ended, and the records that its processes wrote.
struct CommandProfile {
  std::vector<std::string> command;
  double wall_s = 0;  // from the start to the end of the command, as the system tells
  double cpu_s = 0;   // processor time of all its processes
  int exit_status = 0;
  bool cut = false;                    // ended by --max_time
  std::vector<ProfileRecord> records;  // sorted by start
  std::vector<std::string> notes;      // missing or damaged records, for people
};

// Returns the page: the machine, then each process with its stages, bottleneck and advice. A thread shows at most
// max_stages stages; the others share one line. No line is longer than its texts make it.
std::string ProfilePage(const CommandProfile& run, const MachinePeaks& peaks, int max_stages);

// Returns a table with a row for each process, thread and stage:
//   process, tool, pid, thread, stage, calls, self[s], total[s], share[%], examples, structures, atoms, pairs,
//   triplets, triples, flop, bytes, flop_rate[Gflop/s], byte_rate[GB/s], intensity[flop/B], limit_share[%],
//   peak_rss[B], allocations
// Unknown values are empty.
std::string StagesTsv(const CommandProfile& run, const MachinePeaks& peaks);

// Returns the command as text, "train --hidden=15,15 data", in at most `width` characters.
std::string CommandText(const std::vector<std::string>& command, int width);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PAGES_PROFILE_PAGE_H_
