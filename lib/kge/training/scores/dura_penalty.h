// What the regularizer dura adds to the losses of a batch's triples, and its gradient.
//
// Zhang, Cai, Wang, NeurIPS 2020 (arXiv:2011.05816): a score is also the product of an embedding with a head or a tail
// that the relation has moved, and both are kept small. With the weights that the authors train with, a batch of B
// triples adds
//
//   lambda / B sum_(h, r, t) (psi(e_h, w_r) + psi(e_t, w_r)),   psi(e, w) = sum_k |e_k|^2 (1/2 + 3/2 |w_k|^2)
//   d psi / d e_k = e_k (1 + 3 |w_k|^2),   d psi / d w_k = 3 w_k |e_k|^2
//
// where ComplEx counts the moduli of its complex numbers. A query with m tails adds psi(e_h, w_r) + 1/m sum_t psi(e_t,
// w_r), as it does for other regularizers (embedding_penalty.h). A batch is a list of pairs of rows with weights.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_DURA_PENALTY_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_DURA_PENALTY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {

// A row of entities with one of relations, and what its psi counts in the sum of a batch's losses.
struct WeightedPair {
  int32_t entity, relation;
  double weight;
};

// The pairs that the triples of a training batch touch, ascending, each once. Empty for other regularizers than dura,
// and for an evaluation.
std::vector<WeightedPair> FindPenalizedPairs(const KgeOptions& options, const KgeBatch& batch);

// Sums over pairs. Tables are [.., d].
class DuraPenalty {
 public:
  explicit DuraPenalty(const KgeOptions& options);

  // Returns the sum of weight psi(entity, relation).
  template <typename T>
  double SumOf(absl::Span<const WeightedPair> pairs, const T* entities, const T* relations) const;
  // Adds its gradient with respect to the entities in `range`, the first of which begins at `gradient`.
  template <typename T>
  void AddEntityGradients(absl::Span<const WeightedPair> pairs, ShardRange range, const T* entities, const T* relations,
                          T* gradient) const;
  // Adds its gradient with respect to all relations.
  template <typename T>
  void AddRelationGradients(absl::Span<const WeightedPair> pairs, const T* entities, const T* relations,
                            T* gradient) const;

 private:
  // |x_k|^2.
  template <typename T>
  T Square(const T* x, int64_t k) const {
    return half_ > 0 ? x[k] * x[k] + x[k + half_] * x[k + half_] : x[k] * x[k];
  }
  // The number of real or complex numbers in a row.
  int64_t size() const { return half_ > 0 ? half_ : dim_; }

  const int64_t dim_;
  const int64_t half_;  // distance from real to imaginary parts; 0: numbers are real
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_DURA_PENALTY_H_
