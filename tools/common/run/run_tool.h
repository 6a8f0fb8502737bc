// The frame of every tool: flags, help, signals, exit status. A tool's main is one call of RunTool.
//
// Exit status: 0 done; 1 usage or bad input; 2 ran, but a stated limit was not met; 3 internal error; 128 + n stopped
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

// A flag that other programs for the same task have and this one has not, with the reason or what to use instead.
struct ForeignFlag {
  const char* name;  // "enable_multi_gpu"; users may write - for _
  const char* why;   // "--enable_multi_gpu: WHY"
};

struct ToolInfo {
  const char* name;                            // "featurize"
  const char* summary;                         // one line
  const char* synopsis;                        // "featurize [flags] --species=Ti,O --output=FILE INPUT..."
  absl::Span<const ForeignFlag> foreign = {};  // refused with their reasons, not as unknown
};

struct ToolRun {
  std::string name;
  std::vector<std::string> command;  // argv, with what flag files say in their places
  std::vector<std::string> args;     // positional arguments
};

// Parses flags, prints --help (only flags defined under tools/) or --version, installs the signal handlers, runs `body`
// and turns its status into the exit status: FAILED_PRECONDITION is 2, INTERNAL and exceptions are 3, CANCELLED after a
// signal is 128 + signal, any other error is 1. A flag that is not of this tool is an error. With --timing or the
// environment's RUTILE_PROFILE_DIR it profiles `body`, whatever its status (profile_run.h).
int RunTool(int argc, char** argv, const ToolInfo& info, absl::Status (*body)(const ToolRun& run));

// The metadata of an output of this run: kind, tool, version, command, and a SHA-256 of each input.
absl::StatusOr<Metadata> OutputMetadata(const ToolRun& run, absl::string_view kind,
                                        absl::Span<const std::string> inputs);

// Ends the process with this status, as when the tool's body returns: for one that others did the work of.
[[noreturn]] void ExitTool(const ToolRun& run, int exit_status);

// "tool: warning: what" on stderr.
void PrintWarning(absl::string_view what);
// "tool: what" on stderr.
void PrintMessage(absl::string_view what);
// This process is one of several that do the same. Other than rank 0 they print nothing from now on, but that error,
// with their rank, which RunTool's body returns. Where none leads (another process started them and speaks for all),
// rank 0 is as quiet.
void SetMessageRank(int rank, bool rank_0_leads = true);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_RUN_TOOL_H_
