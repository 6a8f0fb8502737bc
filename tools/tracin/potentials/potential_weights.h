// What the run of the checkpoints learned from: weights of structures, labels, losses.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_WEIGHTS_H_
#define RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/atomic_inputs.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/files/checkpoint_series.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Returns options with the weights of structures that the run had (--config_weights, --weight_key); those of models, or
// of none (null), are 1. INVALID_ARGUMENT naming two checkpoints with different ones.
absl::StatusOr<AtomicDataOptions> WeightsOfRun(const CheckpointSet* checkpoint_set);

// Makes the keys of labels and units of files that the run had (--energy_key and so on) the defaults of this program's
// flags. INVALID_ARGUMENT naming two checkpoints with different ones, or a flag that is given and says another.
absl::Status TakeLabelFlagsOfRun(const TracinFlags& flags, const CheckpointSet* checkpoint_set);

// The loss at a checkpoint, which a run may have changed when it was resumed, and what the sums of its terms count.
struct CheckpointLoss {
  LossOptions loss;
  std::vector<double> weights;  // [terms]; empty: not known, and of no use
};

// Returns the loss at each checkpoint, of models and of checkpoints. given: --term_weights, which count instead of
// those that are recorded; models need them.
//
// A checkpoint's weights apply to sums over what an epoch learned from: a sample of the forces, a part of the batches,
// some structures twice. Multiplied by the number of training structures, and by the share that these sums had of the
// values of all `examples`, they make the run's loss the mean of the examples' losses. The factor of
// --force_scale_unbiased is not counted. INVALID_ARGUMENT if a checkpoint does not say what its errors counted.
// --unrolled needs that for the losses of tests alone (tests_are_losses), and has no weights without.
absl::StatusOr<std::vector<CheckpointLoss>> LossesOfRun(const TracinFlags& flags, const CheckpointSet& checkpoint_set,
                                                        const std::vector<double>& given, const AtomicData& train,
                                                        absl::Span<const int64_t> examples, bool tests_are_losses);

// Its weights as --term_weights has them: of energy, force and stress, as far as there are terms.
std::string TermWeightsText(const CheckpointLoss& at);

// The loss that has the terms of all of them, for what must be known before the first checkpoint is reached.
LossOptions TermsOfAll(absl::Span<const CheckpointLoss> losses);

// Their names, "rmse" or "rmse,huber", for the description of scores.
std::string LossNames(absl::Span<const CheckpointLoss> losses);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_WEIGHTS_H_
