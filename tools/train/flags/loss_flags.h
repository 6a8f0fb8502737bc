// The flags of train on what is learned, and from which forces.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_LOSS_FLAGS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_LOSS_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/potential/model/task_options.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {

// Returns the options of the loss. Where --force_weight leaves the weight of forces open, it is that of the preset if
// another flag says how forces are learned, else 0 until LearnForces is called. INVALID_ARGUMENT naming the flag: a
// value out of range, or without effect beside the others.
absl::StatusOr<LossOptions> LossOptionsFromFlags(Preset preset);

// False where the flags leave energies alone to be learned, whatever labels the data have.
bool MayLearnForces(Preset preset, const LossOptions& loss);

// Gives forces their weight in the loss, and energies the rest, if the flags leave both open and the preset learns
// forces. Call it where the data have forces to learn. Returns whether it did.
bool LearnForces(Preset preset, LossOptions* loss);

// Returns which forces an epoch learns from, but for the seed, which is the run's and is set by the caller.
// INVALID_ARGUMENT naming the flag: a value out of range, or without effect beside the others.
absl::StatusOr<ForceSamplingOptions> ForceSamplingOptionsFromFlags(const LossOptions& loss);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_LOSS_FLAGS_H_
