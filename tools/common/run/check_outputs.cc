#include "tools/common/run/check_outputs.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/file/input_files.h"

namespace rutile {
namespace {

using Identity = std::pair<dev_t, ino_t>;

// Returns the identity of a plain file; nullopt for anything else or if nothing exists.
std::optional<Identity> IdentityOf(const std::string& path) {
  struct stat info;
  if (path.empty() || path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return Identity(info.st_dev, info.st_ino);
}

// Returns the files that an argument names. A list from a pipe can be read only once, and is not expanded.
std::vector<std::string> FilesOf(const std::string& argument) {
  absl::string_view list = argument;
  if (absl::ConsumePrefix(&list, "list:") && !IdentityOf(std::string(list)).has_value()) return {};
  absl::StatusOr<std::vector<std::string>> files = ExpandInputs({argument});
  return files.ok() ? *std::move(files) : std::vector<std::string>();
}

// Returns the path without links, "." and "..", whether or not the file exists; "" if that cannot be told, as in a
// working directory that was removed.
std::string WholePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return "";
  const std::filesystem::path whole = std::filesystem::weakly_canonical(absolute, error);
  return error ? "" : whole.string();
}

bool IsStandardOutput(absl::string_view path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

// True if two outputs are one file, by name or through links, there already or not.
bool IsSameOutput(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || a == "-" || b == "-") return false;
  struct stat info;
  if (::stat(a.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return false;  // such as /dev/null
  if (a == b) return true;
  const std::string whole = WholePath(a);
  return !whole.empty() && whole == WholePath(b);
}

// True for flags whose values are globs of names, not of files.
bool HoldsNames(absl::string_view flag) {
  return flag == "config_type" || flag == "params" || flag == "exclude_params" || flag == "last_layer_names";
}

// Returns the files that are read, each after the flag that names it ("" for an argument).
std::vector<std::pair<std::string, std::string>> InputsOf(absl::Span<const std::pair<std::string, std::string>> flags,
                                                          absl::Span<const std::string> args) {
  std::vector<std::pair<std::string, std::string>> inputs;
  const auto add = [&inputs](const std::string& flag, const std::string& value) {
    inputs.emplace_back(flag, value);
    for (const std::string& file : FilesOf(value)) inputs.emplace_back(flag, file);
    // A committee is one argument: MODEL,MODEL.
    for (const absl::string_view part : absl::StrSplit(value, ',')) inputs.emplace_back(flag, part);
  };
  for (const std::string& argument : args) add("", argument);
  for (const auto& [flag, value] : flags) {
    // A folder that a flag names, such as a run, may hold outputs of earlier calls.
    struct stat info;
    const bool folder = ::stat(value.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    if (!IsOutputFlag(flag) && !absl::EndsWith(flag, "_dir") && !HoldsNames(flag) && !folder) add(flag, value);
  }
  return inputs;
}

}  // namespace

bool IsOutputFlag(absl::string_view name) {
  return name == "output" || absl::EndsWith(name, "_output") || name == "output_model" || name == "output_triples" ||
         name == "output_xyz" || name == "export_embeddings";
}

absl::Status CheckOutputs(absl::Span<const std::pair<std::string, std::string>> flags,
                          absl::Span<const std::string> args) {
  for (const auto& [flag, output] : flags) {
    if (output == "-" && absl::EndsWith(flag, "_dir")) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, "=-: standard output cannot be a directory: name one (./- for one of that name)"));
    }
    if (!IsOutputFlag(flag)) continue;
    for (const auto& [other, value] : flags) {
      if (other == flag || !IsOutputFlag(other)) continue;
      if (IsStandardOutput(output) && IsStandardOutput(value)) {
        return absl::InvalidArgumentError(absl::StrCat("--", flag, " and --", other,
                                                       ": only one of them can be -, standard output, where their "
                                                       "bytes would follow each other: give a file for the other"));
      }
      if (!IsSameOutput(output, value)) continue;
      return absl::InvalidArgumentError(absl::StrCat("--", flag, " and --", other, " both name ", output,
                                                     value == output ? "" : absl::StrCat(" (as ", value, ")"),
                                                     ": give each a name of its own"));
    }
    const std::optional<Identity> there = IdentityOf(output);
    if (!there.has_value()) continue;
    for (const auto& [other, input] : InputsOf(flags, args)) {
      if (IdentityOf(input) != there) continue;
      return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", output, ": would take the place of ",
                                                     input == output ? "an input" : absl::StrCat("the input ", input),
                                                     other.empty() ? "" : absl::StrCat(", which --", other, " names"),
                                                     ": give another name"));
    }
  }
  return absl::OkStatus();
}

}  // namespace rutile
