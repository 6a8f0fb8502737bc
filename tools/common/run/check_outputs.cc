#include "tools/common/run/check_outputs.h"

#include <sys/stat.h>

#include <optional>
#include <string>
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
      if (other == flag || !IsOutputFlag(other) || value != output || output.empty() || output == "-") continue;
      struct stat info;
      if (::stat(output.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) continue;  // such as /dev/null
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " and --", other, " both name ", output, ": give each a name of its own"));
    }
    const std::optional<Identity> there = IdentityOf(output);
    if (!there.has_value()) continue;
    std::vector<std::string> inputs;
    for (const std::string& argument : args) {
      const std::vector<std::string> files = FilesOf(argument);
      inputs.insert(inputs.end(), files.begin(), files.end());
      // A committee is one argument: MODEL,MODEL.
      for (const absl::string_view part : absl::StrSplit(argument, ',')) inputs.emplace_back(part);
    }
    for (const auto& [other, value] : flags) {
      if (IsOutputFlag(other)) continue;
      inputs.push_back(value);
      for (const absl::string_view part : absl::StrSplit(value, ',')) inputs.emplace_back(part);
    }
    for (const std::string& input : inputs) {
      if (IdentityOf(input) != there) continue;
      return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", output, ": would take the place of ",
                                                     input == output ? "an input" : absl::StrCat("the input ", input),
                                                     ": give another name"));
    }
  }
  return absl::OkStatus();
}

}  // namespace rutile
