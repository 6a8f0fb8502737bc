// The flags of train on what is learned, and from which forces.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_LOSS_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_LOSS_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/potential/model/task_options.h"

namespace rutile {

// INVALID_ARGUMENT naming the flag: a value out of range, or without effect beside the others.
absl::StatusOr<LossOptions> LossOptionsFromFlags();

// The seed is the run's and is set by the caller. INVALID_ARGUMENT likewise.
absl::StatusOr<ForceSamplingOptions> ForceSamplingOptionsFromFlags(const LossOptions& loss);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_LOSS_FLAGS_H_
