#include "tools/common/run/help.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/logging.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/tool_flags.h"

namespace rutile {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kNameWidth = 34;  // of a flag with its default in the short form

// Headings of help in their order, and the source files whose flags stand under them.
constexpr std::pair<absl::string_view, absl::string_view> kGroups[] = {
    {"Structures", "structure_flags selection_flags structure_stream_flags"},
    {"Data", "data_flags split_flags isolated_atoms"},
    {"Descriptor", "descriptor_flags angular_flag"},
    {"Potential", "potential_flags"},
    {"Embeddings of a knowledge graph", "kge_flags"},
    {"Starting from another model", "init_flags"},
    {"Loss", "loss_flags"},
    {"Training", "preset_flags trainer_flags training_subset"},
    {"Optimizer", "optimizer_flags"},
    {"Learning rate", "schedule_flags"},
    {"Averages of parameters", "ema_flags"},
    {"Limits and early stopping", "limit_flags"},
    {"Validation", "validation_flags"},
    {"Batches", "bucket_flags"},
    {"Checkpoints and resuming", "checkpoint_flags"},
    {"Logs", "log_flags train_plot potential_outcome"},
    {"Precision and speed", "eager_flags precision_flags compile_flags memory_flag memory_flags operator_flags"},
    {"Processors", "thread_flags process_flags run_member"},
    {"Profile", "profile_run"},
};

// Place of a file's group in the order of help, and its heading. Files that kGroups does not have, a tool's own, come
// first.
std::pair<size_t, std::string> GroupOf(absl::string_view path) {
  absl::string_view stem = path.substr(path.rfind('/') + 1);
  stem = stem.substr(0, stem.rfind('.'));
  for (size_t i = 0; i < std::size(kGroups); ++i) {
    const std::vector<absl::string_view> files = absl::StrSplit(kGroups[i].second, ' ');
    if (std::find(files.begin(), files.end(), stem) != files.end()) return {i + 1, std::string(kGroups[i].first)};
  }
  return {0, "This tool"};
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
    if (text[i] == '.' && text[i + 1] == ' ' && absl::ascii_isupper(text[i + 2])) {
      return std::string(text.substr(0, i + 1));
    }
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

std::string Full(absl::Span<const HelpFlag> flags) {
  std::string text, group;
  for (const HelpFlag& flag : flags) {
    absl::StrAppend(&text, Heading(flag.group, &group), "  ", WithDefault(flag), " (", flag.type, ")\n",
                    Wrapped(flag.help, "      "));
  }
  return text;
}

bool IsAbout(const HelpFlag& flag, absl::string_view word) {
  const std::string text = absl::AsciiStrToLower(absl::StrCat(flag.name, "\n", flag.group, "\n", flag.help));
  return absl::StrContains(text, absl::AsciiStrToLower(word));
}

constexpr char kOfEveryTool[] =
    "\nEvery tool\n"
    "  --flagfile=\"\" (string)\n      Read flags and inputs from this file, one a line.\n"
    "  --help\n      Print help and exit: --help=all all flags, --help=WORD those about a word.\n"
    "  --version\n      Print the version and exit.\n";

}  // namespace

std::vector<HelpFlag> HelpFlags() {
  std::vector<std::pair<size_t, HelpFlag>> sorted;
  for (const gflags::CommandLineFlagInfo& flag : ToolFlags()) {
    const auto [place, group] = GroupOf(flag.filename);
    sorted.emplace_back(
        place, HelpFlag{flag.name, flag.type, FlagText(flag.type, flag.default_value), flag.description, group});
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.name) < std::tie(b.first, b.second.name);
  });
  std::vector<HelpFlag> flags;
  for (auto& [place, flag] : sorted) flags.push_back(std::move(flag));
  return flags;
}

absl::StatusOr<std::string> HelpText(absl::string_view tool, absl::Span<const HelpFlag> flags,
                                     absl::Span<const char* const> essential, absl::string_view topic) {
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
  if (topic.empty() || topic == "all") return absl::StrCat(Full(flags), kOfEveryTool);
  std::vector<HelpFlag> shown;
  for (const HelpFlag& flag : flags) {
    if (IsAbout(flag, topic)) shown.push_back(flag);
  }
  if (shown.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--help=", topic, ": no flag is about \"", topic, "\"; ", tool, " --help=all prints all of them"));
  }
  return Full(shown);
}

}  // namespace rutile
