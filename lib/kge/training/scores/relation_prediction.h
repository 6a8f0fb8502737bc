// The loss of relation prediction for the models without layers, and its gradient.
//
// Chen, Minervini, Riedel, Stenetorp, AKBC 2021 (arXiv:2110.02834): training also asks which relation joins head and
// tail. A batch of B triples adds
//
//   w / B sum_(h, r, t) ( log sum_r' e^s(h, r', t) - s(h, r, t) )
//
// over all relations r', with their inverses, and w = options.relation_prediction. Scores are linear in the relation's
// row, <q(h, t), w_r>, so that q is their gradient in w_r: DistMult q = h t, ComplEx q = [h_re t_re + h_im t_im | h_re
// t_im - h_im t_re], RESCAL q = h t^T, CP q = a_h b_t, SimplE q = 1/2 [a_h b_t | b_h a_t]. Embeddings are those before
// dropout, and labels are not smoothed. A query with m tails adds the mean over its triples, and with group_queries
// their sum, as its loss over entities does. Weights multiply the losses of triples, and the loss of a triple that is
// known to be false is -log(1 - p), p being the softmax of its relation (query_weights.h).

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_RELATION_PREDICTION_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_RELATION_PREDICTION_H_

#include <cstdint>
#include <vector>

#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/scores/entity_scores.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// A triple of a batch, and how much the loss of its relation counts.
struct PredictedTriple {
  int32_t head, relation, tail;
  double weight;
  bool is_false;  // known to be false
};

// Calls visit(triple) for the triples of a batch, in order.
template <typename Visit>
void ForEachPredictedTriple(const KgeOptions& options, const KgeBatch& batch, const Visit& visit) {
  for (int64_t q = 0; q < batch.size(); ++q) {
    const int64_t begin = batch.positive_offset[q], end = batch.positive_offset[q + 1];
    const double weight =
        options.relation_prediction * QueryWeight(options, end - begin) / static_cast<double>(end - begin);
    for (int64_t k = begin; k < end; ++k) {
      visit(PredictedTriple{batch.head[q], batch.relation[q], batch.positive[k], weight * batch.TailWeight(k),
                            batch.IsFalse(q)});
    }
  }
}

// Computes losses and gradients of training batches, some triples at a time, with relations in the place of entities in
// EntityScores.
template <typename T>
class RelationPrediction {
 public:
  // Triples whose vectors q are in memory at a time; fewer if relations have more numbers than entities.
  static constexpr int64_t kTriples = 2048;

  // pool may be null, for one thread. factors: how factors of matrix products are rounded.
  RelationPrediction(const KgeShape& shape, ThreadPool* pool, FactorRounding factors);

  // Returns the sum of the batch's losses times w, and adds its gradient to `gradient` [P] unless that is null.
  double AddLosses(const KgeBatch& batch, const T* parameters, T* gradient);

 private:
  double AddLosses(absl::Span<const PredictedTriple> examples, const T* parameters, T* gradient);

  const KgeShape shape_;
  const KgeShape::Offsets at_;
  const size_t triples_;  // in memory at a time
  EntityScores<T> scores_;
  std::vector<PredictedTriple> examples_;
  std::vector<int32_t> head_, relation_;
  std::vector<int64_t> offset_;
  std::vector<double> weight_;
  std::vector<uint8_t> is_false_;
  Tensor q_, d_q_, row_;
};

extern template class RelationPrediction<float>;
extern template class RelationPrediction<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_RELATION_PREDICTION_H_
