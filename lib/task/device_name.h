// Names of devices, as flags and LibTorch have them. The only place that takes them apart.

#ifndef RUTILE_LIB_TASK_DEVICE_NAME_H_
#define RUTILE_LIB_TASK_DEVICE_NAME_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

struct DeviceName {
  bool is_cuda = false;       // false: "cpu"
  std::optional<int> number;  // N of "cuda:N"; "cuda" leaves the choice to whoever uses the name
};

// Parses "cpu", "cuda" or "cuda:N". INVALID_ARGUMENT quoting anything else, also numbers that LibTorch does not read: a
// sign, blanks, a leading zero.
absl::StatusOr<DeviceName> ParseDeviceName(absl::string_view name);

}  // namespace rutile

#endif  // RUTILE_LIB_TASK_DEVICE_NAME_H_
