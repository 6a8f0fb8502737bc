#include "tools/common/run/same_build.h"

#include <gflags/gflags.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "lib/base/version.h"
#include "lib/file/crc32c.h"
#include "tools/common/run/tool_flags.h"

namespace rutile {

std::string BuildIdentity() {
  std::string flags;
  for (const gflags::CommandLineFlagInfo& flag : ToolFlags()) {
    absl::StrAppend(&flags, flag.name, "\t", flag.type, "\t", flag.default_value, "\t", flag.description, "\n");
  }
  return absl::StrCat(kVersion, ".", absl::Hex(Crc32c(flags), absl::kZeroPad8));
}

absl::Status CheckSameBuild(absl::string_view name) {
  const char* const variable = std::getenv(kBuildVariable);
  if (variable == nullptr) return absl::OkStatus();
  const std::string other = variable, own = BuildIdentity();
  ::unsetenv(kBuildVariable);
  if (other == own) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " was started by a program of another build (", other, ", this one: ", own,
                   "): the two lie in one directory and must come from one installation; install rutile again"));
}

}  // namespace rutile
