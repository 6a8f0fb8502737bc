// The run of potentials that --unrolled goes back through: its steps, batches and states, from its checkpoints.

#ifndef RUTILE_TOOLS_TRACIN_UNROLLED_RUN_H_
#define RUTILE_TOOLS_TRACIN_UNROLLED_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/network/network_shape.h"
#include "lib/potential/influence/unrolled_products.h"
#include "lib/task/parameter_slice.h"
#include "lib/train/files/checkpoint_series.h"

namespace rutile {

// Returns OK if the run of these checkpoints, ordered by step, can be unrolled: the same settings in all of them, an
// optimizer whose steps StepBack knows, and no setting that changes steps otherwise. The steps between two checkpoints
// are taken again, and their states must fit into max_bytes. INVALID_ARGUMENT naming the checkpoint, and the setting,
// or the steps that are too many.
absl::Status CheckUnrolled(absl::Span<const CheckpointSummary> checkpoints, int64_t max_bytes);

// Returns the run of checkpoints that have passed CheckUnrolled. It begins with the parameters of the run's seed if
// there is one checkpoint, or the first is no further from the start of the run than checkpoints are from each other;
// else, and for a run that began with a model (--init_from), with the first checkpoint. slices, shape: of its
// potential. examples: what it trained on, ascending. States are read from the files when they are asked for.
// INVALID_ARGUMENT naming a checkpoint whose place in the run, or whose learning rates, are not what follows from the
// one before.
absl::StatusOr<UnrolledRun> UnrolledRunOf(std::vector<CheckpointSummary> checkpoints,
                                          std::vector<ParameterSlice> slices, const NetworkShape& shape,
                                          absl::Span<const int64_t> examples);

// Returns the steps that are unrolled for the record of scores, "1-4100".
std::string UnrolledSteps(absl::Span<const CheckpointSummary> checkpoints);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_UNROLLED_RUN_H_
