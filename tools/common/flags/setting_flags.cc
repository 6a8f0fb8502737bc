#include "tools/common/flags/setting_flags.h"

#include <gflags/gflags.h>

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/base/logging.h"
#include "tools/common/run/given_flags.h"

namespace rutile {

void RegisterSettingFlag(const SettingInfo& info, const SettingValue& default_value, const char* filename) {
  // gflags keeps both values, and never gives them back.
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        gflags::FlagRegisterer(info.name, info.help, filename, new T(value), new T(value));
      },
      default_value);
}

std::string SettingFlagText(const SettingInfo& info) {
  std::string text;
  CHECK(gflags::GetCommandLineOption(info.name, &text)) << "no flag " << info.name;
  return text;
}

absl::Status BadSettingFlag(const SettingInfo& info, absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--", info.name, "=", text, ": ", what));
}

absl::Status RefuseSettingFlag(const SettingInfo& info, const Need& need) {
  if (!need.by_value) {
    return RefuseFlags(absl::StrCat("without --", absl::StrReplaceAll(need.names, {{",", " or --"}})), {info.name});
  }
  const gflags::CommandLineFlagInfo decider = gflags::GetCommandLineFlagInfoOrDie(need.names);
  const std::string value = FlagText(decider.type, decider.current_value);
  const bool is_switch_on = decider.type == "bool" && value == "true";
  return RefuseFlags(absl::StrCat("with --", need.names, is_switch_on ? "" : absl::StrCat("=", value)), {info.name});
}

}  // namespace rutile
