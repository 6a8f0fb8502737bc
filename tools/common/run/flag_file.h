// Files of flags, and where each flag's value came from.
//
// A line of a file that --flagfile names is a flag as on the command line (--name=value up to the end of the line, no
// quotes), an input, or a comment (#); blanks before it do not count. Files are read where they stand, so that what
// comes later wins; a file may name another.

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

struct Argument {
  std::string text;
  std::string origin;  // "command line", "flagfile settings.txt"
};

// `arguments` (without the program) with the lines of each --flagfile=FILE in its place, and "=true" and so on after
// flags that stand alone. "-" is standard input.
// INVALID_ARGUMENT naming file and line: a flag that there is not, or without a value; files that name each other in a
// circle. Otherwise the errors of reading.
absl::StatusOr<std::vector<Argument>> ExpandFlagFiles(absl::Span<const std::string> arguments);

// The origin of each flag that is given, by the name it was defined with; of the last, which counts.
std::map<std::string, std::string> FlagOrigins(absl::Span<const Argument> arguments);

// The text of a flag file that says the same as `flags` (name, value) and `inputs`. INVALID_ARGUMENT when one of them
// holds a line break, which no line can.
absl::StatusOr<std::string> FlagFileText(absl::string_view comment,
                                         absl::Span<const std::pair<std::string, std::string>> flags,
                                         absl::Span<const std::string> inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_RUN_FLAG_FILE_H_
