// Finds atoms whose features lie outside the range of the training data, where a network's prediction is not reliable.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_EXTRAPOLATION_H_
#define RUTILE_LIB_POTENTIAL_MODEL_EXTRAPOLATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/potential/model/labels/scaling.h"

namespace rutile {

// Immutable, and so thread-safe.
class Extrapolation {
 public:
  // A feature is outside if it lies beyond [min, max] of the atom's species by more than 1e-5 of the range and 1e-5 of
  // the larger bound, so that the rounding of fp32 features does not count. Features of scale 0 do not count either, as
  // no network sees them, unless `constant_counts`: then any value but that of training is outside. Atoms of a species
  // without range (min > max: training had no such atom) are outside.
  Extrapolation(const FeatureRange& range, const FeatureScaling& scaling, bool constant_counts = false);

  // Sets outside[i] = 1 for atoms with a feature outside, and leaves the other elements of `outside` [N] as they are.
  // features: [N, F] not scaled, float or double; species: [N].
  template <typename T>
  void Mark(absl::Span<const T> features, absl::Span<const uint8_t> species, absl::Span<uint8_t> outside) const;

 private:
  const int num_features_;
  std::vector<double> low_, high_;  // [species, F]
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_EXTRAPOLATION_H_
