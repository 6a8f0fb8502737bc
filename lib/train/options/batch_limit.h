// Limits an epoch to its first batches, by number or by share.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_BATCH_LIMIT_H_
#define RUTILE_LIB_TRAIN_OPTIONS_BATCH_LIMIT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/settings.h"

namespace rutile {

// How many batches of an epoch to use. The default is all of them.
struct BatchLimit {
  double fraction = 1;   // above 0, up to 1; of the batches, rounded down, but at least one
  int64_t batches = -1;  // 1 or more; -1: `fraction` applies
  bool all() const { return batches < 0 && fraction == 1; }
};

// Parses "0.25" as a share and "25" as a number of batches, as Lightning does: the dot tells "1.0" (all) from "1" (one
// batch). INVALID_ARGUMENT for any other text, with what was expected.
absl::StatusOr<BatchLimit> ParseBatchLimit(absl::string_view text);
// "25", "0.25", "1.0": ParseBatchLimit reads it as the same limit.
std::string BatchLimitText(const BatchLimit& limit);
// The number alone, for records: 25 or 0.25.
SettingValue BatchLimitNumber(const BatchLimit& limit);

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckBatchLimit(absl::string_view option, const BatchLimit& limit);

// Returns how many of num_batches batches to use; 0 if there are none.
int64_t LimitBatches(const BatchLimit& limit, int64_t num_batches);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_BATCH_LIMIT_H_
