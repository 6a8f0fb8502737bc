// Checks of what the files of models say of their training.

#ifndef RUTILE_TOOLS_TRACIN_GRAPHS_KGE_MODELS_H_
#define RUTILE_TOOLS_TRACIN_GRAPHS_KGE_MODELS_H_

#include "absl/status/status.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Warns, or with --strict returns INVALID_ARGUMENT, if entities were folded into a model: rows that were found after
// training are no sums of steps, though the hashes of triples know their triples.
absl::Status CheckNoNewEntities(const TracinFlags& flags, const CheckpointSet& checkpoint_set);

// INVALID_ARGUMENT if the loss of training is asked for, and a model was imported without it.
absl::Status CheckTrainedLossIsKnown(const TracinFlags& flags, const CheckpointSet& checkpoint_set);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_GRAPHS_KGE_MODELS_H_
