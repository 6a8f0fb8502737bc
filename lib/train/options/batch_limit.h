// Part of an epoch: so many of its batches, or such a share.

#ifndef RUTILE_LIB_TRAIN_OPTIONS_BATCH_LIMIT_H_
#define RUTILE_LIB_TRAIN_OPTIONS_BATCH_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rutile {

// The default is all of them.
struct BatchLimit {
  double fraction = 1;   // above 0, up to 1; of the batches, rounded down, but one at least
  int64_t batches = -1;  // 1 or more; -1: the fraction counts
  bool all() const { return batches < 0 && fraction == 1; }
};

// "0.25" is a share, "25" a number of batches, as Lightning has it: the dot tells "1.0" (all) from "1" (one batch).
// INVALID_ARGUMENT naming `option` otherwise.
absl::StatusOr<BatchLimit> ParseBatchLimit(absl::string_view option, absl::string_view text);

// INVALID_ARGUMENT naming the option, its value and its range.
absl::Status CheckBatchLimit(absl::string_view option, const BatchLimit& limit);

// Of num_batches batches; 0 of none.
int64_t LimitBatches(const BatchLimit& limit, int64_t num_batches);

}  // namespace rutile

#endif  // RUTILE_LIB_TRAIN_OPTIONS_BATCH_LIMIT_H_
