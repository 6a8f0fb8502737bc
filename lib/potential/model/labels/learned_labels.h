// The labels that networks learn: what is left of those of the data when the potential's repulsion is taken off.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_LABELS_LEARNED_LABELS_H_
#define RUTILE_LIB_POTENTIAL_MODEL_LABELS_LEARNED_LABELS_H_

#include "absl/status/statusor.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/pair_repulsion.h"

namespace rutile {

// Returns the same data with the repulsion subtracted from all energies, forces and stresses; the data itself without a
// repulsion. Geometry comes from any kind of input, files of features included. Filters of labels have seen the whole
// labels. The result does not depend on num_threads. Errors of AtomicData::FindPairs.
absl::StatusOr<AtomicData> LearnedLabels(const AtomicData& data, const RepulsionRadii& radii, int num_threads);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_LABELS_LEARNED_LABELS_H_
