// Parts of a batch of structures that are computed one after the other, so that memory does not grow with the batch.

#ifndef RUTILE_LIB_POTENTIAL_TRAINING_BATCH_PARTS_H_
#define RUTILE_LIB_POTENTIAL_TRAINING_BATCH_PARTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/potential/model/labels/scaling.h"

namespace rutile {

// Cuts a batch into parts of whole structures and about the same number of atoms, at most `most` and those of one more
// structure. num_atoms: [B] of each structure. ends: overwritten with the end of each part among the structures. The
// parts depend on the batch alone, not on threads or memory.
void CutBatch(absl::Span<const double> num_atoms, int64_t most, std::vector<int64_t>* ends);

// Writes the standardized features of a structure's atoms to the rows next[species], next[species] + 1... of x.
// species: [N]; features: [N, F]; next: [species], moved past the rows; x: [rows, F].
template <typename Source, typename T>
void ScaleFeatures(const FeatureScaling& scaling, absl::Span<const uint8_t> species, absl::Span<const Source> features,
                   int64_t* next, T* x) {
  const int64_t f = scaling.num_features;
  const Source* from = features.data();
  for (const uint8_t s : species) {
    const double* const mean = &scaling.mean[s * f];
    const double* const scale = &scaling.scale[s * f];
    T* const out = x + next[s]++ * f;
    for (int64_t k = 0; k < f; ++k) out[k] = static_cast<T>((from[k] - mean[k]) * scale[k]);
    from += f;
  }
}

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_TRAINING_BATCH_PARTS_H_
