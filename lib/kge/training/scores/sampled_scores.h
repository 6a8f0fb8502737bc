// The sampled softmax: losses of queries against their own tails and the false answers that a batch shares, and their
// gradients. Its cost does not depend on the number of entities.
//
// A query with the true tails T (a key's training tails, or the triple's own), labels y_t that add up to 1, scores x
// and the negatives S of its batch, each of which stands for w_c entities (batch.negative_log_weight is log w_c), has
// the loss
//
//   l = log Z - sum_T y_t x_t,   Z = sum_{t in T} e^x_t + sum_{c in S without T} w_c e^x_c
//
// The mean of Z over draws is the sum over all entities, since w_c is how often c was drawn divided by how often it is
// on average (importance weights, or "log Q correction": Bengio & Senecal, IEEE Trans. Neural Netw. 19, 713 (2008), and
// Jean et al., ACL 2015, arXiv:1412.2007, section 3). A negative that is a true tail of a query is left out for this
// query, as it is in the first sum. With all entities as negatives, each once, l is the loss of blocked_loss.h. As with
// the full 1vsAll, tails of other triples with the same head and relation are false answers, unless group_queries makes
// them T.
//
// A known-false triple, whose answer is t, has the loss -log(1 - p), p = e^x_t / (e^x_t + sum_{c in S, c != t} w_c
// e^x_c). Weights are those of query_weights.h.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_SAMPLED_SCORES_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_SAMPLED_SCORES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/training/scores/blocked_loss.h"
#include "lib/kge/training/scores/distance_scores.h"
#include "lib/kge/training/scores/entity_scores.h"
#include "lib/machine/parallel_for.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_products.h"
#include "lib/ranking/scores/score_form.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Computes losses and gradients of batches of hidden vectors v [B, d]. One thread at a time uses an object; results
// have the same bits for any number of threads of the pool.
template <typename T>
class SampledScores {
 public:
  // Queries whose scores with the negatives are in memory at once.
  static constexpr int64_t kQueries = 1024;

  // pool may be null, for one thread. factors: how factors of products with the negatives are rounded in training;
  // scores of own tails are not rounded, and distances have none.
  SampledScores(const KgeShape& shape, ThreadPool* pool, FactorRounding factors);

  // Returns the sum of the batch's losses. If arrays.d_v is not null, overwrites it, and adds the gradients of
  // entities and biases to arrays.d_entities and d_bias. Members of arrays below `d_v` are not used. CHECK-fails on a
  // loss that is not of a softmax, and on smoothed labels.
  double AddLosses(const KgeBatch& batch, const EntityArrays<T>& arrays);

 private:
  // Copies the rows of the negatives, and what is added to their scores.
  void Gather(const KgeBatch& batch, const EntityArrays<T>& arrays);
  // Scores queries [first, first + count) with their own tails into own_.
  void ScoreOwn(const KgeBatch& batch, const EntityArrays<T>& arrays, int64_t first, int64_t count);
  // Fills states_ of these queries from own_ and the block of negatives, whose true tails get no score.
  void Sum(const KgeBatch& batch, int64_t first, const ScoreBlock<T>& block, int64_t count);
  // Returns the losses of these queries times their weights, and makes the gradients of a block those of it.
  double Weigh(const KgeBatch& batch, int64_t first, int64_t count);
  void AddOwnGradients(const KgeBatch& batch, const EntityArrays<T>& arrays, int64_t first, int64_t count);
  // Adds the gradients of the negatives' rows and biases to the table's.
  void Scatter(const KgeBatch& batch, const EntityArrays<T>& arrays);
  // What the label of a query's tail is for each unit of its weight.
  double LabelUnit(const KgeBatch& batch, int64_t query) const;

  const KgeShape shape_;
  const ScoreForm form_;
  ThreadPool* const pool_;
  MatrixProducts<T> products_;
  DistanceScores<T> distances_, own_distances_;
  std::vector<SoftmaxState> states_;        // of a block's queries
  std::vector<double> scale_;               // of a block's queries: what their slopes are multiplied by
  std::vector<T> own_, own_rows_, slopes_;  // own_: scores of the batch's positives
  Tensor rows_, d_rows_, shift_, d_shift_, piece_shift_, scores_;
};

extern template class SampledScores<float>;
extern template class SampledScores<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_SAMPLED_SCORES_H_
