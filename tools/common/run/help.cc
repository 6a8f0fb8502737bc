#include "tools/common/run/help.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kNameWidth = 34;  // of a flag with its default in the short form

// Source files that define flags, and the headings of their flags, in the order of help. Files that are not here (a
// tool's own) come first.
constexpr std::pair<absl::string_view, absl::string_view> kGroups[] = {
    {"structure_flags", "Structures"},
    {"selection_flags", "Structures"},
    {"structure_stream_flags", "Structures"},
    {"data_flags", "Data"},
    {"split_flags", "Data"},
    {"descriptor_flags", "Descriptor"},
    {"angular_flag", "Descriptor"},
    {"potential_flags", "Potential"},
    {"kge_flags", "Embeddings of a knowledge graph"},
    {"init_flags", "Starting from another model"},
    {"loss_flags", "Loss"},
    {"trainer_flags", "Training"},
    {"optimizer_flags", "Optimizer"},
    {"schedule_flags", "Learning rate"},
    {"ema_flags", "Averages of parameters"},
    {"limit_flags", "Limits and early stopping"},
    {"validation_flags", "Validation"},
    {"bucket_flags", "Batches"},
    {"checkpoint_flags", "Checkpoints and resuming"},
    {"log_flags", "Logs"},
    {"train_plot", "Logs"},
    {"potential_outcome", "Logs"},
    {"precision_flags", "Precision and speed"},
    {"compile_flags", "Precision and speed"},
    {"memory_flags", "Precision and speed"},
    {"operator_flags", "Precision and speed"},
    {"thread_flags", "Processors"},
    {"process_flags", "Processors"},
    {"run_member", "Processors"},
    {"profile_run", "Profile"},
};

std::string Stem(absl::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

// Place of a file's group in the order of help, and its heading.
std::pair<int, std::string> GroupOf(absl::string_view path, absl::string_view fallback) {
  const std::string stem = Stem(path);
  int place = 0;
  for (const auto& [file, heading] : kGroups) {
    ++place;
    if (stem != file) continue;
    // Files of one heading are one group, which stands where the first of them is.
    int first = 0;
    while (kGroups[first].second != heading) ++first;
    return {first + 1, std::string(heading)};
  }
  return {0, std::string(fallback)};
}

std::string Wrapped(absl::string_view text, absl::string_view indent) {
  std::string out, line(indent);
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (line.size() + word.size() + 1 > kWidth && line.size() > indent.size()) {
      absl::StrAppend(&out, line, "\n");
      line = std::string(indent);
    }
    absl::StrAppend(&line, line.size() > indent.size() ? " " : "", word);
  }
  return absl::StrCat(out, line, "\n");
}

std::string WithDefault(const HelpFlag& flag) {
  const char* const quote = flag.type == "string" ? "\"" : "";
  return absl::StrCat("--", flag.name, "=", quote, flag.value, quote);
}

// The first sentence. A period ends one where a space and a capital letter follow.
std::string FirstSentence(absl::string_view text) {
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '.' && text[i + 1] == ' ' && absl::ascii_isupper(text[i + 2]))
      return std::string(text.substr(0, i + 1));
  }
  return std::string(text);
}

std::string ShortLine(const HelpFlag& flag) {
  std::string line = absl::StrCat("  ", WithDefault(flag));
  const std::string sentence = FirstSentence(flag.help);
  if (line.size() < kNameWidth) line.resize(kNameWidth, ' ');
  if (line.size() + 1 + sentence.size() <= kWidth) return absl::StrCat(line, " ", sentence, "\n");
  // A cut falls between words.
  std::string cut = sentence.substr(0, kWidth - std::min(kWidth, line.size() + 5));
  cut.resize(std::min(cut.size(), cut.rfind(' ')));
  return absl::StrCat(line, " ", cut, " ...\n");
}

std::string Heading(absl::string_view group, std::string* last) {
  if (group == *last) return "";
  *last = std::string(group);
  return absl::StrCat("\n", group, "\n");
}

std::string Full(absl::Span<const HelpFlag* const> flags) {
  std::string text, group;
  for (const HelpFlag* flag : flags) {
    absl::StrAppend(&text, Heading(flag->group, &group), "  ", WithDefault(*flag), " (", flag->type, ")\n",
                    Wrapped(flag->help, "      "));
  }
  return text;
}

constexpr char kOfEveryTool[] =
    "\nEvery tool\n"
    "  --flagfile=\"\" (string)\n      Read flags and inputs from this file, one a line.\n"
    "  --help\n      Print help and exit: --help=all all flags, --help=WORD those about a word.\n"
    "  --version\n      Print the version and exit.\n";

}  // namespace

std::string PlainNumber(absl::string_view text) {
  double value;
  if (!absl::SimpleAtod(text, &value)) return std::string(text);
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  CHECK(end.ec == std::errc());
  return std::string(buffer, end.ptr);
}

std::vector<HelpFlag> ToolFlags() {
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  std::vector<std::pair<int, HelpFlag>> ours;
  for (const gflags::CommandLineFlagInfo& flag : all) {
    if (!absl::StartsWith(flag.filename, "tools/")) continue;
    auto [place, group] = GroupOf(flag.filename, "This tool");
    const bool number = flag.type == "double";
    ours.emplace_back(place,
                      HelpFlag{flag.name, flag.type, number ? PlainNumber(flag.default_value) : flag.default_value,
                               flag.description, group});
  }
  std::sort(ours.begin(), ours.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.name) < std::tie(b.first, b.second.name);
  });
  std::vector<HelpFlag> flags;
  for (auto& [place, flag] : ours) flags.push_back(std::move(flag));
  return flags;
}

absl::StatusOr<std::string> HelpText(absl::string_view tool, absl::Span<const HelpFlag> flags,
                                     absl::Span<const char* const> essential, absl::string_view topic) {
  std::vector<const HelpFlag*> shown;
  if (topic.empty() && !essential.empty()) {
    std::string text = absl::StrCat("\nThe flags that most runs need, with their defaults. --help=all prints all ",
                                    flags.size(), " flags,\n--help=WORD those about a word.\n");
    std::string group;
    for (const char* name : essential) {
      const auto flag = std::find_if(flags.begin(), flags.end(), [&](const HelpFlag& f) { return f.name == name; });
      CHECK(flag != flags.end()) << name << " is no flag of " << tool;
      absl::StrAppend(&text, Heading(flag->group, &group), ShortLine(*flag));
    }
    return text;
  }
  if (topic.empty() || topic == "all") {
    for (const HelpFlag& flag : flags) shown.push_back(&flag);
    return absl::StrCat(Full(shown), kOfEveryTool);
  }
  for (const HelpFlag& flag : flags) {
    for (const std::string* text : {&flag.name, &flag.group, &flag.help}) {
      if (!absl::StrContains(absl::AsciiStrToLower(*text), absl::AsciiStrToLower(topic))) continue;
      shown.push_back(&flag);
      break;
    }
  }
  if (shown.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--help=", topic, ": no flag is about \"", topic, "\"; ", tool, " --help=all prints all of them"));
  }
  return Full(shown);
}

}  // namespace rutile
