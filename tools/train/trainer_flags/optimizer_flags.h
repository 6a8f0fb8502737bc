// The flags of the optimizer.

#ifndef RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_OPTIMIZER_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_OPTIMIZER_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/optimizer/optimizer_options.h"
#include "lib/optimizer/parameter_groups.h"

namespace rutile {

// Returns the optimizer and its settings. adam_learning_rate: what --learning_rate=0 means with adam and adamw.
// INVALID_ARGUMENT for a value out of range, and for a flag that the chosen optimizer does not use.
absl::StatusOr<OptimizerOptions> OptimizerOptionsFromFlags(double adam_learning_rate = 0.001);

// Returns the groups of --parameter_groups, made by ParseParameterGroups with the run's options, and the settings
// beside them. Errors are those of ParseParameterGroups and CheckParameterGroupOptions.
absl::StatusOr<ParameterGroupOptions> ParameterGroupOptionsFromFlags(const OptimizerOptions& run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAINER_FLAGS_OPTIMIZER_FLAGS_H_
