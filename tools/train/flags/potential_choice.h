// --potential=auto: which potential a run learns where no flag says so.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_CHOICE_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_CHOICE_H_

#include <optional>

#include "lib/potential/model/potential_file.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/files/checkpoint_series.h"
#include "lib/train/options/trainer_options.h"
#include "tools/train/flags/preset_flags.h"

namespace rutile {

enum class PotentialChoice {
  kByFlags,          // what the descriptor's flags say: Chebyshev features, unless --potential=many-body is given
  kManyBody,         // flags of many-body potentials are given, or the run goes on from one
  kManyBodyIfForces  // many-body for structures with forces, else Chebyshev features
};

// Chooses by the flags, the model of --init_from, and the checkpoint of a run that goes on.
PotentialChoice PotentialChoiceFromFlags(Preset preset, const LossOptions& loss, const std::optional<Potential>& model,
                                         const std::optional<CheckpointSummary>& resumed);

// Species beyond which kManyBodyIfForces means Chebyshev features: parameters of many-body potentials grow with the
// square of their number, and larger sets have not been measured.
inline constexpr int kMostOpenSpecies = 10;

// Sets the epochs of a many-body run that no flag limits, 200, and records them for the run that goes on from it. A run
// of a version that recorded none keeps its own.
void SetManyBodyEpochs(const std::optional<CheckpointSummary>& resumed, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_CHOICE_H_
