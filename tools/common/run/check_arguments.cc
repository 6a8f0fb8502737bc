#include "tools/common/run/check_arguments.h"

#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tools/common/run/flag_word.h"

namespace rutile {
namespace {

constexpr size_t kMostSimilar = 3;
constexpr size_t kShortestPart = 4;  // shorter words such as "lr" occur in too many names

// Returns Levenshtein's distance: letters to insert, delete or replace.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t exchanged = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({exchanged, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

absl::Status Error(const Argument& argument, absl::string_view what) {
  const bool in_file = argument.origin != "command line";
  return absl::InvalidArgumentError(absl::StrCat(what, in_file ? absl::StrCat(" (", argument.origin, ")") : ""));
}

absl::Status UnknownFlag(const Argument& argument, absl::Span<const std::string> names) {
  absl::string_view name = absl::string_view(argument.text).substr(0, argument.text.find('='));
  const absl::string_view dashes = name.substr(0, absl::StartsWith(name, "--") ? 2 : 1);
  name.remove_prefix(dashes.size());
  const std::vector<std::string> similar = SimilarNames(name, names);
  return Error(argument,
               absl::StrCat("unknown flag ", dashes, name,
                            similar.empty() ? "" : absl::StrCat("; is it --", absl::StrJoin(similar, " or --"))));
}

// True if the text is of the flag's type, so that only the flag's own validator can refuse it.
bool IsOfType(const std::string& type, const std::string& value) {
  char* end = nullptr;
  if (type == "double") {
    std::strtod(value.c_str(), &end);
  } else if (absl::StrContains(type, "int")) {
    std::strtoll(value.c_str(), &end, 10);
  } else {
    return type == "string";
  }
  return !value.empty() && *end == '\0';
}

absl::Status SetFlag(const Argument& argument, const std::string& name, const std::string& value) {
  // gflags returns a text on success and nothing on failure.
  if (!gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) return absl::OkStatus();
  const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  const std::string given = absl::StrCat("--", name, "=", value);
  const absl::string_view what = absl::StripSuffix(flag.description, ".");
  if (!IsOfType(flag.type, value)) {
    const absl::string_view expected = flag.type == "bool"     ? "true or false"
                                       : flag.type == "double" ? "a number"
                                                               : "a whole number";
    return Error(argument, absl::StrCat(given, ": expected ", expected, "; it is: ", what));
  }
  return Error(argument, flag.type == "string" ? absl::StrCat(given, ": expected ", what)
                                               : absl::StrCat(given, " is out of range; it is: ", what));
}

bool IsTrueOrFalse(const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  return lower == "true" || lower == "false";
}

}  // namespace

std::vector<std::string> SimilarNames(absl::string_view word, absl::Span<const std::string> names) {
  const std::string plain = absl::AsciiStrToLower(absl::StrReplaceAll(word, {{"-", "_"}}));
  std::vector<std::tuple<size_t, size_t, std::string>> found;  // edit distance, length
  for (const std::string& name : names) {
    const size_t distance = EditDistance(plain, name);
    const bool part = std::min(plain.size(), name.size()) >= kShortestPart &&
                      (absl::StrContains(name, plain) || absl::StrContains(plain, name));
    if (part || distance <= std::max<size_t>(1, plain.size() / 3)) found.emplace_back(distance, name.size(), name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> similar;
  for (size_t i = 0; i < std::min(found.size(), kMostSimilar); ++i) similar.push_back(std::get<2>(found[i]));
  return similar;
}

absl::Status CheckArguments(absl::Span<const Argument> arguments, absl::Span<const std::string> names) {
  for (size_t i = 0; i < arguments.size() && arguments[i].text != "--"; ++i) {
    const Argument& argument = arguments[i];
    if (!IsFlag(argument.text)) continue;
    const FlagWord word = ParseFlagWord(argument.text);
    if (std::find(names.begin(), names.end(), word.name) == names.end()) return UnknownFlag(argument, names);
    const bool has_next = i + 1 < arguments.size();
    absl::Status status;
    if (word.has_value) {
      status = SetFlag(argument, word.name, argument.text.substr(argument.text.find('=') + 1));
    } else if (!word.is_bool) {
      if (!has_next) {
        return Error(argument, absl::StrCat("--", word.name, " has no value; expected --", word.name, "=..."));
      }
      // gflags would take the next flag as the value, and both would be lost.
      const std::string& next = arguments[++i].text;
      if (absl::StartsWith(next, "--") && next != "--" &&
          std::find(names.begin(), names.end(), ParseFlagWord(next).name) != names.end()) {
        return Error(argument, absl::StrCat("--", word.name, " has no value, for ", next, " is a flag; expected --",
                                            word.name, "=..."));
      }
      status = SetFlag(argument, word.name, next);
    } else if (has_next && IsTrueOrFalse(arguments[i + 1].text) && ::access(arguments[i + 1].text.c_str(), F_OK) != 0) {
      const std::string& value = arguments[i + 1].text;
      return Error(argument, absl::StrCat("--", word.name, " ", value, ": a switch has its value behind =; expected --",
                                          word.name, "=", absl::AsciiStrToLower(value)));
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace rutile
