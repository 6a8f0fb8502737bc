// profile -- COMMAND: runs it, reads what its tools recorded, and shows it.

#ifndef RUTILE_TOOLS_PROFILE_PROFILE_COMMAND_H_
#define RUTILE_TOOLS_PROFILE_PROFILE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/profile/machine_peaks.h"
#include "tools/profile/pages/profile_page.h"

namespace rutile {

struct CommandOptions {
  absl::Duration max_time = absl::InfiniteDuration();
  std::string output_dir;  // for report.html, trace.json, stages.tsv, records/; empty: none
  bool tsv = false;        // the table to standard output, and the command's standard output to standard error
  bool peaks = true;       // measure what the machine could do, where it is not known yet
  int max_stages = 12;
};

// Runs the command and shows its profile. *exit_status: the command's. Errors: of starting it, and of writing.
absl::Status ProfileCommand(const std::vector<std::string>& command, const CommandOptions& options, int* exit_status);

// Shows what an earlier run left in `directory` (RUTILE_PROFILE_DIR). NOT_FOUND when there is no record.
absl::Status ShowRecords(const std::string& directory, const CommandOptions& options);

// The records of a directory by start; what cannot be read becomes a note.
void ReadRecords(const std::string& directory, CommandProfile* run);

// Peaks of this machine, from the cache of this user or measured (three seconds).
absl::StatusOr<MachinePeaks> PeaksOfMachine(const MachineFacts& facts);

// Facts and peaks as TSV: name, value, unit.
absl::Status ShowMachine();

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PROFILE_COMMAND_H_
