#include "tools/profile/train_command.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "tools/profile/child_process.h"
#include "tools/profile/scratch_directory.h"

namespace rutile {
namespace {

constexpr absl::Duration kLongestHelp = absl::Seconds(30);
constexpr size_t kMostSaid = 500;  // bytes of what a program that failed said last

// How a program that is no train of ours, or cannot be run, ended, and what it said.
std::string EndOf(const ChildResult& result, absl::string_view messages) {
  std::string end = absl::StrCat("exit status ", result.exit_status);
  if (result.cut) {
    end = absl::StrCat("it did not end within ", absl::FormatDuration(kLongestHelp));
  } else if (result.exit_status > 128) {
    end = absl::StrCat("signal ", result.exit_status - 128, ", ", ::strsignal(result.exit_status - 128));
  } else if (result.exit_status == 0) {
    end = "exit status 0, but no flag --output_dir";
  }
  messages = absl::StripAsciiWhitespace(messages);
  if (messages.empty()) return absl::StrCat(end, "; it said nothing on standard error");
  const bool all = messages.size() <= kMostSaid;
  return absl::StrCat(end, "; it said: ", all ? "" : "... ", messages.substr(all ? 0 : messages.size() - kMostSaid));
}

constexpr int kDeepest = 20;  // flag files that name others

// Flags of `program --help=all`, and whether each is boolean.
absl::StatusOr<std::map<std::string, bool>> KnownFlags(const std::string& program) {
  ASSIGN_OR_RETURN(const ScratchDirectory scratch, ScratchDirectory::Create());
  ChildOptions options;
  options.output = scratch.path("help");
  options.messages = scratch.path("messages");
  options.max_time = kLongestHelp;
  ASSIGN_OR_RETURN(const ChildResult result, RunChild({program, "--help=all"}, options));
  ASSIGN_OR_RETURN(const FileContents help, FileContents::Open(options.output));
  std::map<std::string, bool> known;
  for (absl::string_view line : absl::StrSplit(help.data(), '\n')) {
    if (!absl::ConsumePrefix(&line, "  --")) continue;
    const absl::string_view name = line.substr(0, line.find_first_of("= "));
    known[std::string(name)] = absl::EndsWith(line, "(bool)");
  }
  if (result.exit_status != 0 || known.count("output_dir") == 0) {
    ASSIGN_OR_RETURN(const FileContents messages, FileContents::Open(options.messages));
    return absl::InvalidArgumentError(
        absl::StrCat(program, " --help=all does not look like rutile's train: ", EndOf(result, messages.data())));
  }
  return known;
}

// The lines of flag files in their places.
absl::Status Expand(const std::vector<std::string>& words, int depth, std::vector<std::string>* expanded) {
  if (depth > kDeepest) return absl::InvalidArgumentError("flag files name each other in a circle");
  for (size_t i = 0; i < words.size(); ++i) {
    absl::string_view word = words[i];
    std::string path;
    if (absl::ConsumePrefix(&word, "--flagfile=") || absl::ConsumePrefix(&word, "-flagfile=")) {
      path = std::string(word);
    } else if ((word == "--flagfile" || word == "-flagfile") && i + 1 < words.size()) {
      path = words[++i];
    } else {
      expanded->emplace_back(word);
      continue;
    }
    ASSIGN_OR_RETURN(const FileContents file, FileContents::Open(path));
    std::vector<std::string> lines;
    for (absl::string_view line : absl::StrSplit(file.data(), '\n')) {
      line = absl::StripLeadingAsciiWhitespace(line);
      absl::ConsumeSuffix(&line, "\r");
      if (!line.empty() && line[0] != '#') lines.emplace_back(line);
    }
    RETURN_IF_ERROR(Expand(lines, depth + 1, expanded));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainCommand> TrainCommand::Parse(const std::vector<std::string>& words) {
  TrainCommand command;
  const std::string first = words.empty() ? "" : words[0];
  const std::string name = first.substr(first.rfind('/') + 1);
  if (name != "train" && name != "rutile-train") {  // the latter as tools/install.sh names it
    return absl::InvalidArgumentError(
        absl::StrCat("\"", first, "\" is not train: give --  train DATA flags... after profile's own flags"));
  }
  command.program_ = first;
  ASSIGN_OR_RETURN(command.known_, KnownFlags(first));
  std::vector<std::string> rest;
  RETURN_IF_ERROR(Expand(std::vector<std::string>(words.begin() + 1, words.end()), 0, &rest));

  bool flags_end = false;
  for (size_t i = 0; i < rest.size(); ++i) {
    absl::string_view word = rest[i];
    if (flags_end || word == "-" || !absl::StartsWith(word, "-")) {
      command.inputs_.push_back(rest[i]);
      continue;
    }
    if (word == "--") {
      flags_end = true;
      continue;
    }
    word.remove_prefix(absl::StartsWith(word, "--") ? 2 : 1);
    const size_t equals = word.find('=');
    std::string name = absl::StrReplaceAll(word.substr(0, equals), {{"-", "_"}});
    std::string value = equals == absl::string_view::npos ? "true" : std::string(word.substr(equals + 1));
    auto known = command.known_.find(name);
    if (known == command.known_.end() && absl::StartsWith(name, "no")) {
      known = command.known_.find(name.substr(2));
      if (known != command.known_.end()) value = "false";
    }
    if (known == command.known_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("train has no flag --", name, "; see train --help"));
    }
    name = known->first;
    const bool alone = known->second || name == "resume" || value == "false";
    if (equals == absl::string_view::npos && !alone) {
      if (i + 1 == rest.size()) return absl::InvalidArgumentError(absl::StrCat("--", name, " of train has no value"));
      value = rest[++i];
    }
    command.flags_.emplace_back(name, value);
  }
  if (command.inputs_.empty()) {
    return absl::InvalidArgumentError("the command of train has no input: give the data that it shall learn");
  }
  if (std::find(command.inputs_.begin(), command.inputs_.end(), "-") != command.inputs_.end()) {
    return absl::InvalidArgumentError("trials read the data again and again: give train a file instead of -");
  }
  return command;
}

std::optional<std::string> TrainCommand::Get(absl::string_view name) const {
  std::optional<std::string> value;
  for (const auto& [its, v] : flags_) {
    if (its == name) value = v;
  }
  return value;
}

void TrainCommand::Remove(std::initializer_list<const char*> names) {
  const std::set<std::string> removed(names.begin(), names.end());
  flags_.erase(
      std::remove_if(flags_.begin(), flags_.end(), [&](const auto& flag) { return removed.count(flag.first) > 0; }),
      flags_.end());
}

void TrainCommand::Set(const std::string& name, const std::string& value) {
  Remove({name.c_str()});
  if (known_.count(name) > 0) flags_.emplace_back(name, value);
}

std::vector<std::string> TrainCommand::Words() const {
  std::vector<std::string> words = {program_};
  for (const auto& [name, value] : flags_) words.push_back(absl::StrCat("--", name, "=", value));
  words.insert(words.end(), inputs_.begin(), inputs_.end());
  return words;
}

}  // namespace rutile
