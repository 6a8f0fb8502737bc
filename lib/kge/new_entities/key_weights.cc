#include "lib/kge/new_entities/key_weights.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "lib/base/logging.h"

namespace rutile {

KeyWeights::KeyWeights(absl::Span<const Triple> triples, absl::Span<const double> weights, int64_t num_relations,
                       bool inverse_relations) {
  if (weights.empty()) return;
  CHECK_EQ(weights.size(), triples.size());
  // Sums of equal weights are rounded, and quotients with their mean would not be 1 to the bit.
  if (std::all_of(weights.begin(), weights.end(), [&](double w) { return w == weights[0]; })) return;
  all_one_ = false;
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  CHECK_GT(mean, 0);
  for (size_t i = 0; i < triples.size(); ++i) {
    const Triple& t = triples[i];
    sums_[{t.head, t.relation}] += weights[i] / mean;
    if (inverse_relations) sums_[{t.tail, static_cast<int32_t>(t.relation + num_relations)}] += weights[i] / mean;
  }
}

double KeyWeights::Sum(int32_t head, int32_t relation, int64_t num_tails) const {
  if (all_one_) return static_cast<double>(num_tails);
  const auto found = sums_.find({head, relation});
  return found == sums_.end() ? 0 : found->second;
}

}  // namespace rutile
