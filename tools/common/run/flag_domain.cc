#include "tools/common/run/flag_domain.h"

#include <gflags/gflags.h>

#include <map>
#include <string>
#include <vector>

#include "lib/base/status_macros.h"
#include "tools/common/run/given_flags.h"

namespace rutile {
namespace {

std::map<std::string, FlagDomain>& Domains() {
  static auto* domains = new std::map<std::string, FlagDomain>();
  return *domains;
}

}  // namespace

bool FlagsAreFor(FlagDomain domain, const char* filename) {
  Domains()[filename] = domain;
  return true;
}

absl::Status RefuseFlagsFor(FlagDomain domain, absl::string_view why) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    const auto found = Domains().find(flag.filename);
    if (found == Domains().end() || found->second != domain) continue;
    RETURN_IF_ERROR(RefuseFlags(why, {flag.name.c_str()}));
  }
  return absl::OkStatus();
}

std::vector<std::string> FlagsOfSource(const char* filename) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> names;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (flag.filename == filename) names.push_back(flag.name);
  }
  return names;
}

absl::Status RefuseFlagsOfSource(const char* filename, absl::string_view why) {
  for (const std::string& name : FlagsOfSource(filename)) RETURN_IF_ERROR(RefuseFlags(why, {name.c_str()}));
  return absl::OkStatus();
}

}  // namespace rutile
