#include "lib/base/setting_record.h"

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/decimal.h"

namespace rutile {

std::string RecordText(const SettingValue& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? ExactDecimal(*number) : SettingText(value);
}

absl::Status NotRecorded(const SettingInfo& info) {
  return absl::InvalidArgumentError(absl::StrCat("there is no \"", info.name, "\""));
}

absl::Status BadRecord(const SettingInfo& info, absl::string_view text, const SettingValue& like,
                       absl::string_view what) {
  const std::string found = absl::StrCat("\"", info.name, "\" is \"", text, "\"");
  if (std::holds_alternative<std::string>(like)) return absl::InvalidArgumentError(absl::StrCat(found, ": ", what));
  const bool is_switch = std::holds_alternative<bool>(like);
  return absl::InvalidArgumentError(absl::StrCat(found, ", expected ", is_switch ? "true or false" : "a number"));
}

}  // namespace rutile
