// Weights of a graph's training triples, by query.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_KEY_WEIGHTS_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_KEY_WEIGHTS_H_

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "lib/graph/triple.h"

namespace rutile {

// The sums of the weights of triples with the same head and relation, in units of their mean over all triples: the
// triples of a new entity have no weights and count as the graph's do on average. So equal weights, however large,
// are as none.
class KeyWeights {
 public:
  KeyWeights() = default;  // all triples weigh 1
  // weights: [triples], at least 0 and not all 0, or empty for all 1. Inverse relations have the weights of their
  // triples.
  KeyWeights(absl::Span<const Triple> triples, absl::Span<const double> weights, int64_t num_relations,
             bool inverse_relations);

  // Returns the sum of the weights of a query's triples, which are num_tails.
  double Sum(int32_t head, int32_t relation, int64_t num_tails) const;

 private:
  bool all_one_ = true;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, double> sums_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_KEY_WEIGHTS_H_
