// Predicts structures of a training data set.

#ifndef RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_DATA_H_
#define RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_DATA_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lib/evaluation/structure_prediction.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

// Returns predictions in the order of `structures` (indices). With forces, predicts forces of all atoms, and the stress
// in 3-D periodic cells. The features of the data are used if it has some, no forces are wanted, and the potential has
// no repulsion. The result does not depend on num_threads. CHECK-fails when the potential has another descriptor than
// the data. Errors of AtomicData::FindPairs; CANCELLED after a signal.
absl::StatusOr<std::vector<StructurePrediction>> PredictData(const Potential& potential, const AtomicData& data,
                                                             absl::Span<const int64_t> structures, bool forces,
                                                             int num_threads);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_PREDICTION_PREDICT_DATA_H_
