#include "tools/common/given_flags.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"

namespace rutile {

bool FlagGiven(const char* name) { return !gflags::GetCommandLineFlagInfoOrDie(name).is_default; }

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
