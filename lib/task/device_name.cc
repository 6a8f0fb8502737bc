#include "lib/task/device_name.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace rutile {

absl::StatusOr<DeviceName> ParseDeviceName(absl::string_view name) {
  DeviceName device;
  if (name == "cpu") return device;
  device.is_cuda = true;
  if (name == "cuda") return device;
  absl::string_view digits = name;
  int number = 0;
  if (absl::ConsumePrefix(&digits, "cuda:") && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
      (digits == "0" || digits.substr(0, 1) != "0") && absl::SimpleAtoi(digits, &number)) {
    device.number = number;
    return device;
  }
  return absl::InvalidArgumentError(absl::StrCat("device is \"", name, "\", expected cpu, cuda or cuda:N"));
}

}  // namespace rutile
