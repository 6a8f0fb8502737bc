// What weights of triples and known-false triples do to losses.
//
// Each triple's loss is multiplied by its weight w, and a batch's loss is the sum over its triples divided by the sum
// of their weights. A batch of B examples, whose losses are l, thus has the loss
//
//   sum_q c_q l_q / sum_q c_q
//
//   1-of-N, 1vsAll        c = w, the triple's weight; l as without weights
//   KvsAll, m tails       c = mean of w; l has the labels y_t = w_t / sum w in place of 1 / m
//   1vsAll, grouped       c = sum of w; l has the same labels
//   1-N                   c = 1, or 0 if no tail has a weight above 0; in l = 1/N sum_k of cross-entropies, that of a
//                         true tail t is multiplied by w_t
//   a known-false triple  c = w lambda, lambda = options.negative_weight; with p the softmax of its tail among all
//                         entities, or sigma(s) its sigmoid,
//                           l = -log(1 - p)            losses over a softmax (unlikelihood: Welleck et al., ICLR 2020,
//                                                      arXiv:1908.04319)
//                           l = -1/N log(1 - sigma(s))  binary cross-entropies: the term of a false entity in the
//                                                      sum over N
//
// Labels are smoothed as without weights: c0 + c1 N's share of the true tails is w_t over the mean of w. The relation's
// loss of a triple (relation_prediction.h; -log(1 - p) for a false one) and what the regularizer adds for it are
// multiplied by its weight, too: a query with m tails adds 1/m sum_t w_t of them, and with group_queries the sum.
//
// So weights of 1 change nothing, in any bit. With the losses of single triples, and with group_queries, a weight of 2
// is a triple that is there twice; with KvsAll this holds of the labels, and the key counts (m + 1) / m for it. A
// weight of 0 takes the triple out of the sums: with 1-N it counts neither as true nor as false, and a key of which no
// triple is left says nothing of other entities either.

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_QUERY_WEIGHTS_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_QUERY_WEIGHTS_H_

#include <algorithm>
#include <cstdint>

#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/model/kge_labels.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {

// Returns the mean of the weights of a query's tails, 1 without weights.
inline double MeanWeight(const KgeBatch& batch, int64_t query) {
  const int64_t begin = batch.positive_offset[query], end = batch.positive_offset[query + 1];
  if (batch.positive_weight.empty() || begin == end) return 1;
  double sum = 0;
  for (int64_t k = begin; k < end; ++k) sum += batch.positive_weight[k];
  return sum / static_cast<double>(end - begin);
}

// True if tails of a query weigh their own terms of a sum over entities, and not the query.
inline bool WeighsTermsAlone(const KgeOptions& options, const KgeBatch& batch, int64_t query) {
  return options.loss == KgeLoss::kOneToN && !batch.IsFalse(query);
}

// True if a tail of the query has a weight above 0, or the query has no tails.
inline bool HasWeight(const KgeBatch& batch, int64_t query) {
  const int64_t begin = batch.positive_offset[query], end = batch.positive_offset[query + 1];
  if (batch.positive_weight.empty() || begin == end) return true;
  const auto weights = batch.positive_weight.subspan(begin, end - begin);
  return std::any_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; });
}

// Returns c above, what the query's loss is multiplied by and what it counts in the mean.
inline double QueryCount(const KgeOptions& options, const KgeBatch& batch, int64_t query) {
  const double count = QueryWeight(options, batch.positive_offset[query + 1] - batch.positive_offset[query]);
  if (!WeighsTermsAlone(options, batch, query)) return count * MeanWeight(batch, query);
  return HasWeight(batch, query) ? count : 0;
}

// Returns what the label, or with 1-N the term, of the query's tails is multiplied by for each unit of their weights.
inline double TailUnit(const KgeOptions& options, const KgeBatch& batch, int64_t query) {
  const double mean = WeighsTermsAlone(options, batch, query) ? 1 : MeanWeight(batch, query);
  return mean == 0 ? 1 : 1 / mean;
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_QUERY_WEIGHTS_H_
