// What the structures of a run counted for in training, from its checkpoints.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIAL_WEIGHTS_H_
#define RUTILE_TOOLS_TRACIN_POTENTIAL_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/data/atomic_inputs.h"
#include "lib/potential/model/task_options.h"
#include "lib/train/files/checkpoint_series.h"
#include "tools/tracin/checkpoint_set.h"

namespace rutile {

// Returns options with the weights of structures that the run had (--config_weights, --weight_key); those of models, or
// of none (null), are 1. INVALID_ARGUMENT naming two checkpoints with different ones.
absl::StatusOr<AtomicDataOptions> WeightsOfRun(const CheckpointSet* checkpoint_set);

// Weights of a run that samples forces are by the number of its sample, whose mean estimates that of all. This makes
// them weights of all forces, which count in influence. weights: [terms] of the checkpoint. INVALID_ARGUMENT if the
// checkpoint does not say how large the sample was.
absl::Status CountAllForces(const CheckpointSummary& checkpoint, const LossOptions& loss, const AtomicData& train,
                            absl::Span<const int64_t> examples, std::vector<double>* weights);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIAL_WEIGHTS_H_
