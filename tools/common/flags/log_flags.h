// The flags of a run's logs.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_LOG_FLAGS_H_
#define RUTILE_TOOLS_COMMON_FLAGS_LOG_FLAGS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/train/files/log_format.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

struct LogOptions {
  std::vector<LogFormat> formats;
  int64_t every_n_steps = 0;
};

// INVALID_ARGUMENT for an unknown form, a negative number, steps to log without a form, and for flags of a log in a run
// that writes none.
absl::StatusOr<LogOptions> LogOptionsFromFlags(RunFiles files);

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_LOG_FLAGS_H_
