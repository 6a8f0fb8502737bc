#include "tools/common/run/given_flags.h"

#include <gflags/gflags.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/decimal.h"

namespace rutile {
namespace {

// Nothing until RunTool has recorded them.
std::optional<std::map<std::string, std::string>>& Origins() {
  static auto* origins = new std::optional<std::map<std::string, std::string>>();
  return *origins;
}

}  // namespace

std::string FlagOrigin(const std::string& name) {
  if (!Origins().has_value()) return "default";
  const auto found = Origins()->find(name);
  return found == Origins()->end() ? "default" : found->second;
}

// A program that has continued as this one (exec_sibling_binary.cc) knows of flag files, which may have been pipes,
// more than its command says.
void RecordFlagOrigins(std::map<std::string, std::string> origins) {
  if (const char* const before = std::getenv(kFlagOriginsVariable); before != nullptr) {
    for (const absl::string_view line : absl::StrSplit(before, '\n', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> flag = absl::StrSplit(line, absl::MaxSplits('\t', 1));
      const auto found = origins.find(flag.first);
      if (found != origins.end()) found->second = flag.second;
    }
    ::unsetenv(kFlagOriginsVariable);
  }
  Origins() = std::move(origins);
}

bool FlagGiven(const char* name) {
  const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name);
  // gflags takes a default of NaN, which is not equal to itself, for given.
  return Origins().has_value() ? Origins()->count(name) > 0 : !info.is_default;
}

std::string FlagText(const std::string& type, const std::string& value) {
  return type == "double" ? ShortestDecimal(std::strtod(value.c_str(), nullptr)) : value;
}

absl::Status RefuseFlags(absl::string_view why, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!FlagGiven(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", name, " has no effect ", why, ": leave it out"));
  }
  return absl::OkStatus();
}

absl::Status RefuseUnused(absl::string_view chosen, std::initializer_list<std::pair<const char*, bool>> used) {
  for (const auto& [name, is_used] : used) {
    if (is_used || !FlagGiven(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", name, " has no effect with ", chosen, ": leave it out"));
  }
  return absl::OkStatus();
}

}  // namespace rutile
