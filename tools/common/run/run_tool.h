// The frame of every tool: flags, help, signals, exit status. A tool's main is one call of RunTool.
//
// Exit status: 0 done; 1 usage or bad input; 2 ran, but a stated limit was not met; 3 internal error; 128 + n stopped
// by signal n. Messages go to stderr as "tool: what"; stdout is for results.
//
// Example, the whole of a tool's main file:
//   DEFINE_string(output, "", "File to write.");
//   absl::Status RunCount(const ToolRun& run) {
//     if (run.args.empty()) return absl::InvalidArgumentError("needs an INPUT; see count --help");
//     ...  // read run.args, write FLAGS_output
//     return absl::OkStatus();
//   }
//   int main(int argc, char** argv) {
//     return RunTool(argc, argv, {"count", "count atoms", "count [flags] INPUT..."}, RunCount);
//   }
// by signal n. Messages go to stderr as "tool: what"; stdout is for results.

#ifndef RUTILE_TOOLS_COMMON_RUN_RUN_TOOL_H_
#define RUTILE_TOOLS_COMMON_RUN_RUN_TOOL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// A flag of other programs for the same task that this tool does not have, with the reason or a replacement.
struct ForeignFlag {
  const char* name;  // "enable_multi_gpu"; users may write - for _
  const char* why;   // "--enable_multi_gpu: WHY"; "--epochs: no such flag; use WHY" if it begins with a flag
};

// Description of a tool, for --help and messages.
struct ToolInfo {
  const char* name;                              // "featurize"
  const char* summary;                           // one line
  const char* synopsis;                          // "featurize [flags] --species=Ti,O --output=FILE INPUT..."
  absl::Span<const ForeignFlag> foreign = {};    // refused with their reasons, not as unknown
  absl::Span<const char* const> essential = {};  // flags that --help shows by itself; without any it shows all
  const char* features = "";                     // lines of --version after the first: what this build can do
};

// The command of a run, after flags are parsed.
struct ToolRun {
  std::string name;
  std::vector<std::string> command;  // argv with flag files expanded
  std::vector<std::string> args;     // positional arguments
};

// Parses flags, prints --help (help.h: only flags defined under tools/) or --version, installs signal handlers, runs
// `body` and turns its status into the exit status: FAILED_PRECONDITION is 2, INTERNAL and exceptions are 3, CANCELLED
// after a signal is 128 + signal, any other error is 1. Flags that this tool does not have are errors. With --timing or
// RUTILE_PROFILE_DIR in the environment it profiles `body`, whatever its status (profile_run.h).
int RunTool(int argc, char** argv, const ToolInfo& info, absl::Status (*body)(const ToolRun& run));

// Returns the metadata of an output of this run: kind, tool, version, command, and a SHA-256 of each input.
absl::StatusOr<Metadata> OutputMetadata(const ToolRun& run, absl::string_view kind,
                                        absl::Span<const std::string> inputs);

// Ends the process with this status as if the tool's body had returned; used when other processes have done the work.
[[noreturn]] void ExitTool(const ToolRun& run, int exit_status);

// Prints "tool: warning: what" on stderr.
void PrintWarning(absl::string_view what);
// Prints "tool: what" on stderr, in one line (lib/base/printable_text.h).
void PrintMessage(absl::string_view what);
// Keeps messages and warnings from being printed from now on (--quiet); errors still are.
void SilenceMessages();
// Prints the message that ends a run, silenced or not.
void PrintLastMessage(absl::string_view what);
// Declares this process one of several that run the same command. From now on ranks other than 0 print only the error
// that RunTool's body returns, with their rank. If no rank leads (the process that started them prints for all), rank 0
// is silent as well.
void SetMessageRank(int rank, bool rank_0_leads = true);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_RUN_TOOL_H_
