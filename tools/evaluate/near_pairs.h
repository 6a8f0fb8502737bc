// Warns of atoms that are nearer to each other than a descriptor sees.

#ifndef RUTILE_TOOLS_EVALUATE_NEAR_PAIRS_H_
#define RUTILE_TOOLS_EVALUATE_NEAR_PAIRS_H_

#include <string>

#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"

namespace rutile {

// Returns how many structures have atoms at or below min_cutoff, Angstrom, and which has the nearest two; "" if none
// has. has_repulsion: whether the model has a repulsion, which does not need the descriptor. Features do not tell; of
// these, featurize has warned.
std::string NearPairsWarning(absl::Span<const StructurePrediction> predictions, double min_cutoff, bool has_repulsion);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_NEAR_PAIRS_H_
