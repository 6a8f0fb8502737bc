#include "lib/potential/model/labels/moment_scaling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lib/base/logging.h"

namespace rutile {
namespace {

// Shares of the root mean square of the densities (l = 0). Below the first a degree holds rounding alone, in fp32 and
// of positions that were printed with four decimals (3e-5); below the second its scale no longer grows, so that a
// displacement of MD is not a hundred times what training saw. Thermal displacements give 0.2, a displacement of 0.01
// Angstrom some 0.01.
constexpr double kLeastShare = 1e-4;
constexpr double kSmallShare = 1e-2;
// Atoms whose moments of a vanished degree are larger than this share of the densities are unlike the training data; of
// small degrees it is three times the second share.
constexpr double kNoticedShare = 1e-3;

}  // namespace

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
    double density = 0;  // root of the mean square for l = 0
    for (int l = 0; l <= options.max_l; ++l) {
      double sum = 0, count = 0;
      for (int k = 0; k < f; ++k) {
        const int component = k % components;
        if (!seen[k / block] || component < l * l || component >= (l + 1) * (l + 1)) continue;
        sum += square[k];
        count += 1;
      }
      const double root = count > 0 ? std::sqrt(sum / count) : 0;
      if (l == 0) density = root;
      const bool vanishes = root <= kLeastShare * density;
      const double all = kind == FeatureScalingKind::kNone ? 1
                         : vanishes                        ? 0
                                                           : 1 / std::max(root, kSmallShare * density);
      for (int k = 0; k < f; ++k) {
        const int component = k % components;
        if (component < l * l || component >= (l + 1) * (l + 1)) continue;
        mean[k] = 0;
        const int n = k % block / components + 1;
        scale[k] = !seen[k / block] ? 0 : kind == FeatureScalingKind::kNone ? 1 : all / n;
        if (l == 0) continue;
        double& low = range->min[int64_t{center} * f + k];
        double& high = range->max[int64_t{center} * f + k];
        if (!(low <= high)) continue;  // a species without atoms
        const bool is_limited = seen[k / block] && root < kSmallShare * density;
        // A rotation makes a component of a vector of 2l + 1 at most so many times as large.
        const double largest = std::sqrt(2.0 * l + 1) * std::max(high, -low);
        high = is_limited ? std::max((vanishes ? kNoticedShare : 3 * kSmallShare) * density, largest)
                          : std::numeric_limits<double>::infinity();
        low = -high;
      }
    }
  }
}

std::vector<int> VanishingDegrees(const MomentOptions& options, const FeatureScaling& scaling, int center) {
  const int f = options.num_features(), components = (options.max_l + 1) * (options.max_l + 1);
  const double* const scale = &scaling.scale[int64_t{center} * f];
  std::vector<int> degrees;
  for (int k = 0; k < f; k += options.num_radial * components) {
    if (scale[k] == 0) continue;
    for (int l = 1; l <= options.max_l; ++l) {
      if (scale[k + l * l] == 0) degrees.push_back(l);
    }
    break;
  }
  return degrees;
}

bool IsUnseenPair(const MomentOptions& options, const FeatureScaling& scaling, int center, int neighbor) {
  const int block = options.num_radial * (options.max_l + 1) * (options.max_l + 1);
  return scaling.scale[int64_t{center} * options.num_features() + int64_t{neighbor} * block] == 0;
}

}  // namespace rutile
