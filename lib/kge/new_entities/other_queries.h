// The queries of a model's training triples, to which a new entity is a false answer: without them its row would score
// high in all of them.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_OTHER_QUERIES_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_OTHER_QUERIES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "lib/graph/known_tails.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/new_entities/key_weights.h"
#include "lib/kge/new_entities/table_loss.h"
#include "lib/machine/parallel_for.h"
#include "lib/ranking/kge_scorer.h"

namespace rutile {

// Returns v [Q, d] of queries about known entities, rounded as ranking rounds them.
std::vector<double> KnownHidden(const KgeScorer& scorer, const std::vector<int32_t>& heads,
                                const std::vector<int32_t>& relations);

// The queries, or every k-th of them, each of which then counts k times.
class OtherQueries {
 public:
  static constexpr int64_t kMost = 16384;

  // known: the tails of the training triples, with inverse relations if the model has them. weights: of those
  // triples. pool: not owned. most: tests set it lower.
  OtherQueries(const KgeShape& shape, const KnownTails& known, const KeyWeights& weights, const KgeScorer& scorer,
               TableLoss* table, ThreadPool* pool, int64_t most = kMost);

  // Returns how much each query counts, as in training (query_weights.h): the sum of the weights of its triples;
  // KvsAll: their mean; 1-N: once if that is above 0.
  const std::vector<double>& weights() const { return weights_; }
  // Returns the number of a query, or -1 if it is not among these.
  int64_t Find(int32_t head, int32_t relation) const;

  // Returns the sum over queries of weight (log(Z + e^s) - log Z - label s), with s the score <v, row> + bias of the
  // entity whose row and bias are y, Z the sum of e^s over the known entities, and the label of a false answer; binary
  // losses have 1 in place of Z and log(1 + e^s) - label s. Adds its gradient by y to d_y. The bits do not depend on
  // the number of threads.
  double Add(absl::Span<const double> weights, absl::Span<const double> y, absl::Span<double> d_y) const;

 private:
  const int64_t dim_;
  ThreadPool* const pool_;
  std::vector<double> v_;         // [Q, d]
  std::vector<double> log_sums_;  // [Q] log Z, or 0 for binary losses
  std::vector<double> labels_;    // [Q]
  std::vector<double> weights_;   // [Q]
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int64_t> index_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_OTHER_QUERIES_H_
