// Reads and writes files of flags, and tracks where each flag's value came from.
//
// A line of a file named by --flagfile is a flag as on the command line (--name=value up to the end of the line,
// without quotes), an input, or a comment (#); leading blanks are ignored. A file counts at its place on the command
// line, so that later values win; a file may name another.

#ifndef RUTILE_TOOLS_COMMON_RUN_FLAG_FILE_H_
#define RUTILE_TOOLS_COMMON_RUN_FLAG_FILE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace rutile {

// One word of the command line or of a flag file.
struct Argument {
  std::string text;
  std::string origin;  // "command line", "flagfile settings.txt"
};

// Replaces each --flagfile=FILE in `arguments` (which exclude the program's name) by the lines of the file, and
// completes flags without a value ("=true"). "-" is standard input. INVALID_ARGUMENT naming file and line: an unknown
// flag, a flag without its value, or files that include each other in a circle; otherwise the errors of reading.
absl::StatusOr<std::vector<Argument>> ExpandFlagFiles(absl::Span<const std::string> arguments);

// Returns the origin of each flag given, by its defined name. If a flag is given twice, the last one counts.
std::map<std::string, std::string> FlagOrigins(absl::Span<const Argument> arguments);

// Returns the text of a flag file equivalent to `flags` (name, value) and `inputs`. INVALID_ARGUMENT if one of them
// contains a line break, which a line cannot hold.
absl::StatusOr<std::string> FlagFileText(absl::string_view comment,
                                         absl::Span<const std::pair<std::string, std::string>> flags,
                                         absl::Span<const std::string> inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_FLAG_FILE_H_
