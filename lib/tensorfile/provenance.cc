#include "lib/tensorfile/provenance.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/logging.h"
#include "lib/base/status_macros.h"
#include "lib/base/version.h"
#include "lib/file/sha256.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_header.h"

namespace rutile {
namespace {

// Quotes a word in the plainest form that preserves it: name, 'two words', $'a\nb'.
std::string ShellWord(absl::string_view word) {
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(c) || absl::string_view("-_./,:=+@%^").find(c) != absl::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  const bool is_text =
      IsUtf8(word) && std::none_of(word.begin(), word.end(), [](char c) { return absl::ascii_iscntrl(c); });
  std::string quoted = is_text ? "'" : "$'";
  for (const char c : word) {
    if (is_text) {
      absl::StrAppend(&quoted, c == '\'' ? absl::string_view("'\\''") : absl::string_view(&c, 1));
    } else if (absl::ascii_isprint(c) && c != '\'' && c != '\\') {
      quoted += c;
    } else {
      absl::StrAppendFormat(&quoted, "\\%03o", static_cast<unsigned char>(c));
    }
  }
  return quoted + "'";
}

// JSON cannot hold bytes that are not UTF-8; such a path is written in the shell's quotes.
std::string PathText(const std::string& path) { return IsUtf8(path) ? path : ShellWord(path); }

}  // namespace

absl::Status Provenance::AddInput(absl::string_view path) {
  std::string hash;
  struct stat info;
  const std::string name(path);
  if (name != "-" && !(::stat(name.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
    ASSIGN_OR_RETURN(hash, Sha256HexOfFile(path));
  }
  inputs[name] = hash;
  return absl::OkStatus();
}

Metadata MakeMetadata(absl::string_view kind, const Provenance& provenance, const Metadata& own) {
  CHECK(ParseFileKind(kind).ok()) << kind;
  std::vector<std::string> words = {provenance.tool};
  words.insert(words.end(), provenance.arguments.begin(), provenance.arguments.end());
  std::string inputs = "{";
  for (const auto& [path, hash] : provenance.inputs) {
    absl::StrAppend(&inputs, inputs.size() > 1 ? "," : "", JsonQuote(PathText(path)), ":", JsonQuote(hash));
  }
  inputs += "}";
  Metadata metadata = {{"kind", std::string(kind)},
                       {"tool", provenance.tool},
                       {"version", kVersion},
                       {"command", ShellCommand(words)},
                       {"inputs", inputs}};
  for (const auto& [key, value] : own) CHECK(metadata.emplace(key, value).second) << "metadata \"" << key << "\"";
  return metadata;
}

std::string ShellCommand(absl::Span<const std::string> words) {
  std::string command;
  for (const std::string& word : words) absl::StrAppend(&command, command.empty() ? "" : " ", ShellWord(word));
  return command;
}

}  // namespace rutile
