#include "lib/potential/model/labels/moment_scaling.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/base/logging.h"

namespace rutile {

void ScaleMoments(const MomentOptions& options, FeatureScalingKind kind, FeatureScaling* scaling, FeatureRange* range) {
  const int num_species = static_cast<int>(options.species.size()), f = options.num_features();
  CHECK_EQ(scaling->num_species, num_species);
  CHECK_EQ(scaling->num_features, f);
  const int components = (options.max_l + 1) * (options.max_l + 1), block = options.num_radial * components;
  CHECK_EQ(range->min.size(), scaling->scale.size());
  for (int center = 0; center < num_species; ++center) {
    double* const mean = &scaling->mean[int64_t{center} * f];
    double* const scale = &scaling->scale[int64_t{center} * f];
    std::vector<double> square(f);
    std::vector<bool> seen(num_species, false);
    for (int k = 0; k < f; ++k) {
      const double deviation = scale[k] == 0 ? 0 : 1 / scale[k];
      square[k] = mean[k] * mean[k] + deviation * deviation;
      // Only the density tells whether there were neighbors; the others may vanish by symmetry.
      const double low = range->min[int64_t{center} * f + k], high = range->max[int64_t{center} * f + k];
      if (k % components == 0 && low <= high && (low != 0 || high != 0)) seen[k / block] = true;
    }
    for (int l = 0; l <= options.max_l; ++l) {
      double sum = 0, count = 0;
      for (int k = 0; k < f; ++k) {
        const int component = k % components;
        if (!seen[k / block] || component < l * l || component >= (l + 1) * (l + 1)) continue;
        sum += square[k];
        count += 1;
      }
      const double all = kind == FeatureScalingKind::kNone ? 1 : sum > 0 ? 1 / std::sqrt(sum / count) : 0;
      for (int k = 0; k < f; ++k) {
        const int component = k % components;
        if (component < l * l || component >= (l + 1) * (l + 1)) continue;
        mean[k] = 0;
        const int n = k % block / components + 1;
        scale[k] = !seen[k / block] ? 0 : kind == FeatureScalingKind::kNone ? 1 : all / n;
      }
    }
    for (int k = 0; k < f; ++k) {
      if (k % components == 0) continue;
      double& low = range->min[int64_t{center} * f + k];
      double& high = range->max[int64_t{center} * f + k];
      if (!(low <= high)) continue;  // a species without atoms
      low = -std::numeric_limits<double>::infinity();
      high = std::numeric_limits<double>::infinity();
    }
  }
}

bool IsUnseenPair(const MomentOptions& options, const FeatureScaling& scaling, int center, int neighbor) {
  const int block = options.num_radial * (options.max_l + 1) * (options.max_l + 1);
  return scaling.scale[int64_t{center} * options.num_features() + int64_t{neighbor} * block] == 0;
}

}  // namespace rutile
