// --potential=auto: which potential a run learns where no flag says so.

#ifndef RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_CHOICE_H_
#define RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_CHOICE_H_

#include <optional>
#include <string>

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

// Chooses by the flags, the model of --init_from, and the checkpoint of a run that goes on. on_gpu: it trains there,
// whether or not a flag says so.
PotentialChoice PotentialChoiceFromFlags(Preset preset, const LossOptions& loss, bool on_gpu,
                                         const std::optional<Potential>& model,
                                         const std::optional<CheckpointSummary>& resumed);

// Species beyond which kManyBodyIfForces means Chebyshev features: parameters of many-body potentials grow with the
// square of their number, and larger sets have not been measured.
inline constexpr int kMostOpenSpecies = 10;

// What a run that learns forces says where it has Chebyshev features though no flag names them: which of the conditions
// of kManyBodyIfForces does not hold. "" if flags name them. For new runs without --init_from.
std::string WhyChebyshev(Preset preset, bool on_gpu, bool from_structures, int num_species);

// SetDefaultEpochs for many-body runs, whose default is 200.
void SetManyBodyEpochs(const std::optional<CheckpointSummary>& resumed, TrainerOptions* options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_FLAGS_POTENTIAL_CHOICE_H_
