// The flags of the optimizer.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_OPTIMIZER_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_OPTIMIZER_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"

namespace rutile {

// adam_learning_rate: what --learning_rate=0 means with adam and adamw. INVALID_ARGUMENT for a value out of range, and
// for a flag that the chosen optimizer does not use.
absl::StatusOr<OptimizerOptions> OptimizerOptionsFromFlags(double adam_learning_rate = 0.001);

// INVALID_ARGUMENT as ParseParameterGroups and CheckParameterGroupOptions.
absl::StatusOr<ParameterGroupOptions> ParameterGroupOptionsFromFlags(const OptimizerOptions& run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_OPTIMIZER_FLAGS_H_
