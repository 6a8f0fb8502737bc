#include "lib/base/settings.h"

#include <cmath>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/decimal.h"

namespace rutile {

bool Range::Contains(double value) const {
  if (is_everything_ || (meaning_ != nullptr && value == other_)) return true;
  if (!std::isfinite(value)) return false;
  return (low_is_in_ ? value >= low_ : value > low_) && (high_is_in_ ? value <= high_ : value < high_);
}

std::string Range::Words(absl::string_view name) const {
  const std::string interval = IntervalWords(name);
  if (meaning_ == nullptr) return interval;
  return absl::StrCat(interval, ", or ", ShortestDecimal(other_), " for ", meaning_);
}

std::string Range::IntervalWords(absl::string_view name) const {
  const std::string low = ShortestDecimal(low_), high = ShortestDecimal(high_);
  if (is_everything_) return "a number";
  if (std::isinf(high_)) return low_is_in_ ? absl::StrCat(low, " or more") : absl::StrCat("a number above ", low);
  if (low_is_in_ && high_is_in_) return absl::StrCat(low, " to ", high);
  return absl::StrCat(low, low_is_in_ ? " <= " : " < ", name, high_is_in_ ? " <= " : " < ", high);
}

std::string SettingText(const SettingValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return ShortestDecimal(*number);
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<uint64_t>(&value)) return absl::StrCat(*number);
  if (const auto* is_on = std::get_if<bool>(&value)) return *is_on ? "true" : "false";
  return std::get<std::string>(value);
}

absl::Status CheckRange(const SettingInfo& info, const SettingValue& value) {
  return CheckInRange(info, value, info.range);
}

absl::Status CheckInRange(const SettingInfo& info, const SettingValue& value, const Range& range) {
  double number = 0;
  if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    number = static_cast<double>(*whole);
  } else if (const auto* natural = std::get_if<uint64_t>(&value)) {
    number = static_cast<double>(*natural);
  } else {
    return absl::OkStatus();
  }
  if (range.Contains(number)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(info.name, " is ", SettingText(value), ", expected ", range.Words(info.name)));
}

absl::StatusOr<SettingValue> ParseSettingValue(const SettingInfo& info, absl::string_view text,
                                               const SettingValue& like) {
  if (std::holds_alternative<double>(like)) {
    double number = 0;
    if (absl::SimpleAtod(text, &number)) return number;
    return absl::InvalidArgumentError(absl::StrCat(info.name, "=", text, " is no number"));
  }
  if (std::holds_alternative<int64_t>(like)) {
    int64_t number = 0;
    if (absl::SimpleAtoi(text, &number)) return number;
    return absl::InvalidArgumentError(absl::StrCat(info.name, "=", text, " is no whole number"));
  }
  if (std::holds_alternative<uint64_t>(like)) {
    uint64_t number = 0;
    if (absl::SimpleAtoi(text, &number)) return number;
    return absl::InvalidArgumentError(absl::StrCat(info.name, "=", text, " is no whole number from 0 on"));
  }
  if (std::holds_alternative<bool>(like)) {
    bool is_on = false;
    if (absl::SimpleAtob(text, &is_on)) return is_on;
    return absl::InvalidArgumentError(absl::StrCat(info.name, "=", text, ", expected true or false"));
  }
  return std::string(text);
}

}  // namespace rutile
