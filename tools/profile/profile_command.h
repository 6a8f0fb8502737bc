// Implements profile -- COMMAND: runs the command, reads the records of its tools, and shows them.

#ifndef RUTILE_TOOLS_PROFILE_PROFILE_COMMAND_H_
#define RUTILE_TOOLS_PROFILE_PROFILE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/profile/pages/profile_page.h"

namespace rutile {

// What to measure and to show.
struct CommandOptions {
  absl::Duration max_time = absl::InfiniteDuration();
  std::string output_dir;  // for report.html, trace.json, stages.tsv, records/; empty: none
  bool tsv = false;        // write the table to standard output, and the command's standard output to standard error
  bool peaks = true;       // measure the machine's peaks, if they are not known yet
  bool measure_peaks = false;  // measure them although they are known
  int max_stages = 12;
};

// Runs the command, shows its profile, and sets *exit_status to the command's. Errors are those of starting it and of
// writing.
absl::Status ProfileCommand(const std::vector<std::string>& command, const CommandOptions& options, int* exit_status);

// Shows the records of an earlier run in `directory` (RUTILE_PROFILE_DIR). NOT_FOUND if there is no record.
absl::Status ShowRecords(const std::string& directory, const CommandOptions& options);

// Reads the records of a directory, sorted by start; a record that cannot be read becomes a note.
void ReadRecords(const std::string& directory, CommandProfile* run);

// Prints the machine's facts and peaks as TSV: name, value, unit. The peaks are those of this user's cache or, where it
// has none or measure_peaks, measured.
absl::Status ShowMachine(bool measure_peaks);

}  // namespace rutile

#endif  // RUTILE_TOOLS_PROFILE_PROFILE_COMMAND_H_
