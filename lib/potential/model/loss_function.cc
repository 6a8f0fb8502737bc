#include "lib/potential/model/loss_function.h"

#include "lib/base/logging.h"

namespace rutile {

Loss CombineLossTerms(LossKind kind, absl::Span<const double> weights, const TermSums& sums) {
  CHECK_EQ(weights.size(), sums.sum.size());
  Loss loss;
  for (size_t t = 0; t < weights.size(); ++t) {
    double slope = 0;
    if (sums.count[t] > 0) {
      const double mean = sums.sum[t] / sums.count[t];
      if (kind == LossKind::kRmse) {
        const double root = std::sqrt(mean);
        loss.value += weights[t] * root;
        slope = root > 0 ? 0.5 / (root * sums.count[t]) : 0;  // without an error, the root's slope is taken as 0
      } else {
        loss.value += weights[t] * mean;
        slope = 1 / sums.count[t];
      }
    }
    loss.weight.push_back(weights[t] * slope);
  }
  return loss;
}

}  // namespace rutile
