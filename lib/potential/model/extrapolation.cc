#include "lib/potential/model/extrapolation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/base/logging.h"

namespace rutile {
namespace {

constexpr double kTolerance = 1e-5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Extrapolation::Extrapolation(const FeatureRange& range, const FeatureScaling& scaling, bool constant_counts)
    : num_features_(scaling.num_features), low_(range.min), high_(range.max) {
  CHECK_EQ(low_.size(), scaling.scale.size());
  CHECK_EQ(high_.size(), scaling.scale.size());
  for (size_t k = 0; k < low_.size(); ++k) {
    if (!(low_[k] <= high_[k])) {
      // An empty interval, so that every value is outside.
      low_[k] = kInfinity;
      high_[k] = -kInfinity;
    } else if (scaling.scale[k] == 0 && !constant_counts) {
      low_[k] = -kInfinity;
      high_[k] = kInfinity;
    } else {
      const double margin = kTolerance * ((high_[k] - low_[k]) + std::max(std::abs(low_[k]), std::abs(high_[k])));
      low_[k] -= margin;
      high_[k] += margin;
    }
  }
}

template <typename T>
void Extrapolation::Mark(absl::Span<const T> features, absl::Span<const uint8_t> species,
                         absl::Span<uint8_t> outside) const {
  CHECK_EQ(features.size(), species.size() * num_features_);
  CHECK_EQ(outside.size(), species.size());
  for (size_t atom = 0; atom < species.size(); ++atom) {
    const T* const row = &features[atom * num_features_];
    const double* const low = &low_[species[atom] * num_features_];
    const double* const high = &high_[species[atom] * num_features_];
    int beyond = 0;
    for (int f = 0; f < num_features_; ++f) beyond |= (row[f] < low[f]) | (row[f] > high[f]);
    outside[atom] |= static_cast<uint8_t>(beyond);
  }
}

template void Extrapolation::Mark(absl::Span<const float>, absl::Span<const uint8_t>, absl::Span<uint8_t>) const;
template void Extrapolation::Mark(absl::Span<const double>, absl::Span<const uint8_t>, absl::Span<uint8_t>) const;

}  // namespace rutile
