// What a regularizer adds to the losses of a batch's triples, and its gradient (KgeRegularizer of kge_options.h).
//
// Lacroix, Usunier, Obozinski, ICML 2018 (arXiv:1806.07297), section 5: the penalty of a triple is that of the three
// rows that it touches, so that a batch of B triples adds
//
//   lambda / B sum_(h, r, t) (phi(e_h) + phi(w_r) + phi(e_t)),   phi(x) = sum_k |x_k|^p,   d phi / d x_k = p
//   |x_k|^(p-2) x_k
//
// A query with m tails stands for m triples. Its loss is their mean, and so is what is added: phi(e_h) + phi(w_r) +
// 1/m sum_t phi(e_t); with group_queries it is their sum, m times as much. All of this depends on a row alone: a batch
// is a list of rows with weights, and no array of [batch, entities] or of gradients of rows is needed.
//
// The score of CP has half of the head's row and the other half of the tail's, and these halves are what is penalized:
// its table of entities [N, d] counts as one of 2 N rows of d / 2 numbers, that of entity n as a head being row 2 n.
//
// Weights of triples multiply what they add; known-false triples add theirs, too (query_weights.h).

#ifndef RUTILE_LIB_KGE_TRAINING_SCORES_EMBEDDING_PENALTY_H_
#define RUTILE_LIB_KGE_TRAINING_SCORES_EMBEDDING_PENALTY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/kge/layers/kge_batch.h"
#include "lib/kge/layers/kge_shard.h"
#include "lib/kge/model/kge_options.h"

namespace rutile {

// A row of a table, and what its phi counts in the sum of a batch's losses.
struct WeightedRow {
  int32_t row;
  double weight;
};

// The penalty of one kind of row.
class RowPenalty {
 public:
  // dim: the numbers in a row, d above.
  RowPenalty(const KgeOptions& options, int64_t dim);

  // False for the regularizers none and dura (dura_penalty.h), whose penalties of single rows are 0.
  bool is_on() const { return regularizer_ != KgeRegularizer::kNone && regularizer_ != KgeRegularizer::kDura; }
  // Returns phi of a row, x [d], summed in fp64.
  template <typename T>
  double Of(absl::Span<const T> x) const;
  // Adds weight d phi / d x to gradient [d].
  template <typename T>
  void AddGradient(double weight, absl::Span<const T> x, absl::Span<T> gradient) const;

  // Returns the sum of weight phi(row) over the rows of the table [.., d] that are in `own`, in order.
  template <typename T>
  double SumOf(absl::Span<const WeightedRow> rows, ShardRange own, const T* table) const;
  // Adds the gradient of SumOf, where the gradient of row `first` begins at `gradient`. own.begin >= first.
  template <typename T>
  void AddGradients(absl::Span<const WeightedRow> rows, ShardRange own, const T* table, int64_t first,
                    T* gradient) const;

 private:
  const KgeRegularizer regularizer_;
  const int64_t dim_;
  const int64_t half_;  // distance from real to imaginary parts if moduli count, else 0
};

// Returns the number of rows with penalties of their own that an entity has: 2 for CP, else 1.
inline int64_t PenalizedRowsOfEntity(const KgeOptions& options) { return options.model == KgeModel::kCp ? 2 : 1; }

// The rows that the triples of a batch touch, ascending, each once.
struct PenalizedRows {
  std::vector<WeightedRow> entities, relations;
};

// Collects the rows of a training batch. Empty if no rows are penalized, and for an evaluation, whose loss is without.
PenalizedRows FindPenalizedRows(const KgeOptions& options, const KgeBatch& batch);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_TRAINING_SCORES_EMBEDDING_PENALTY_H_
