#include "tools/common/run/flag_settings.h"

#include <gflags/gflags.h>

#include <string>

#include "absl/strings/string_view.h"
#include "lib/base/logging.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/tool_flags.h"

namespace rutile {

FlagSettings::FlagSettings() {
  for (const gflags::CommandLineFlagInfo& flag : ToolFlags()) {
    const std::string value = FlagText(flag.type, flag.current_value);
    settings_[flag.name] = {value, FlagOrigin(flag.name), value, FlagGiven(flag.name.c_str())};
  }
}

void FlagSettings::Resolve(absl::string_view name, absl::string_view value, absl::string_view origin) {
  const auto found = settings_.find(std::string(name));
  CHECK(found != settings_.end()) << "no flag " << name;
  FlagSetting& setting = found->second;
  if (setting.value == value) return;
  setting.value = std::string(value);
  if (!setting.is_given) setting.origin = std::string(origin);
}

}  // namespace rutile
