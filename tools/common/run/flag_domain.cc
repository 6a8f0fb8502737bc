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

}  // namespace rutile
