#include "tools/common/run/flag_file.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "tools/common/run/flag_word.h"

namespace rutile {
namespace {

constexpr int kDeepest = 20;  // nesting of flag files
constexpr char kFlagFile[] = "flagfile";

// Returns the argument in the form that gflags understands.
std::string ForGflags(absl::string_view argument, const FlagWord& word) {
  if (word.name.empty() || word.has_value || !word.is_text) return std::string(argument);
  return absl::StrCat("--", word.name, word.text ? "=true" : "=false");
}

absl::Status ReadFlagFile(const std::string& path, int depth, std::vector<Argument>* arguments) {
  if (depth > kDeepest) {
    return absl::InvalidArgumentError(absl::StrCat("--flagfile=", path, ": files name each other in a circle"));
  }
  ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(path));
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(file.data(), '\n')) {
    ++line_number;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    FlagWord word;
    if (IsFlag(line)) {
      word = ParseFlagWord(line);
      if (word.name.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": no flag \"", line,
                                                       "\"; expected --name=value, an input or # and a comment"));
      }
      if (!word.has_value && !word.is_bool) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ":", line_number, ": --", word.name, " has no value; expected --", word.name, "=..."));
      }
      if (word.name == kFlagFile) {
        RETURN_IF_ERROR(ReadFlagFile(std::string(line.substr(line.find('=') + 1)), depth + 1, arguments));
        continue;
      }
    }
    arguments->push_back({ForGflags(line, word), absl::StrCat("flagfile ", path)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Argument>> ExpandFlagFiles(absl::Span<const std::string> arguments) {
  std::vector<Argument> expanded;
  bool flags_end = false;  // after "--" there are only inputs
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& text = arguments[i];
    const FlagWord word = IsFlag(text) && !flags_end ? ParseFlagWord(text) : FlagWord();
    if (word.name == kFlagFile) {
      if (!word.has_value && i + 1 == arguments.size()) {
        return absl::InvalidArgumentError("--flagfile has no value; expected --flagfile=FILE");
      }
      const std::string path = word.has_value ? text.substr(text.find('=') + 1) : arguments[++i];
      RETURN_IF_ERROR(ReadFlagFile(path, 1, &expanded));
      continue;
    }
    flags_end = flags_end || text == "--";
    expanded.push_back({ForGflags(text, word), "command line"});
    // The value of "--name value" is no flag, whatever it looks like.
    if (!word.name.empty() && !word.has_value && !word.is_bool && i + 1 < arguments.size()) {
      expanded.push_back({arguments[++i], "command line"});
    }
  }
  return expanded;
}

std::map<std::string, std::string> FlagOrigins(absl::Span<const Argument> arguments) {
  std::map<std::string, std::string> origins;
  for (size_t i = 0; i < arguments.size() && arguments[i].text != "--"; ++i) {
    if (!IsFlag(arguments[i].text)) continue;
    const FlagWord word = ParseFlagWord(arguments[i].text);
    if (word.name.empty()) continue;
    origins[word.name] = arguments[i].origin;
    if (!word.has_value && !word.is_bool) ++i;
  }
  return origins;
}

absl::StatusOr<std::string> FlagFileText(absl::string_view comment,
                                         absl::Span<const std::pair<std::string, std::string>> flags,
                                         absl::Span<const std::string> inputs) {
  std::string text = absl::StrCat("# ", comment, "\n");
  for (const auto& [name, value] : flags) absl::StrAppend(&text, "--", name, "=", value, "\n");
  for (const std::string& input : inputs) {
    const bool looks_like_something_else =
        !input.empty() && (IsFlag(input) || input[0] == '#' || absl::ascii_isspace(input[0]));
    absl::StrAppend(&text, looks_like_something_else ? "./" : "", input, "\n");
  }
  // A value that ends with a carriage return would also be read back without it.
  size_t lines = 1 + flags.size() + inputs.size();
  for (const char c : text) lines -= c == '\n';
  if (lines != 0 || absl::StrContains(text, "\r")) {
    return absl::InvalidArgumentError("a flag or the name of an input holds a line break, which no flag file can");
  }
  return text;
}

}  // namespace rutile
