// The length of runs whose model has a default of its own, where no flag gives one.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_DEFAULT_EPOCHS_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_DEFAULT_EPOCHS_H_

#include <cstdint>
#include <optional>

#include "lib/train/files/checkpoint_series.h"
#include "lib/train/options/trainer_options.h"

namespace rutile {

// Sets the epochs of a run: those of --max_epochs, or those that the run to go on with has recorded, or for a new one
// `epochs`, unless --max_steps or --fast_dev_run says how long it is. Records them for the run that goes on from it.
// A run of a version that recorded none goes on with the trainer's default.
void SetDefaultEpochs(int64_t epochs, const std::optional<CheckpointSummary>& resumed, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_DEFAULT_EPOCHS_H_
