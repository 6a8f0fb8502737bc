// Which atoms have features that training has not seen: a network says nothing reliable of them.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_EXTRAPOLATION_H_
#define RUTILE_LIB_POTENTIAL_MODEL_EXTRAPOLATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/potential/model/scaling.h"

namespace rutile {

// Immutable.
class Extrapolation {
 public:
  // A feature is outside when it lies beyond [min, max] of the atom's species by more than 1e-5 of the range and 1e-5
  // of the larger bound: rounding of fp32 features, computed another way, does not count. Features of scale 0, which no
  // network sees, do not count either. A species without range (min > max: training had no atom of it) is outside.
  Extrapolation(const FeatureRange& range, const FeatureScaling& scaling);

  // features: [N, F] not scaled, float or double; species: [N]. outside: [N], set to 1 where a feature is outside, else
  // left alone.
  template <typename T>
  void Mark(absl::Span<const T> features, absl::Span<const uint8_t> species, absl::Span<uint8_t> outside) const;

 private:
  const int num_features_;
  std::vector<double> low_, high_;  // [species, F]
};

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_EXTRAPOLATION_H_
