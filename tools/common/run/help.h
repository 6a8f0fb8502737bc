// What --help prints: the flags that most runs need, all of them, or those about a word.
//
// Flags are grouped by the file that defines them, under a heading.

#ifndef RUTILE_TOOLS_COMMON_RUN_HELP_H_
#define RUTILE_TOOLS_COMMON_RUN_HELP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// A flag as help shows it.
struct HelpFlag {
  std::string name;   // "learning_rate"
  std::string type;   // "double", "bool", "string", "int32", "int64"
  std::string value;  // the default as a person writes it: 0.98, and never 0.97999999999999998
  std::string help;   // sentences; the first is the short form
  std::string group;  // "Schedule"
};

// The tool's flags (tool_flags.h) in the order of their groups, then of their names.
std::vector<HelpFlag> HelpFlags();

// The flags that help shows for `topic`:
//   ""      the essential ones with one line each, in the order given; all of them if none is essential
//   "all"   all of them, by group
//   "word"  those whose name, group or help contains the word, in whatever case
// INVALID_ARGUMENT if no flag is about the word.
absl::StatusOr<std::string> HelpText(absl::string_view tool, absl::Span<const HelpFlag> flags,
                                     absl::Span<const char* const> essential, absl::string_view topic);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_HELP_H_
