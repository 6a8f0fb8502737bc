// What the row of a new entity minimizes: the loss of its triples, with all else of the model fixed.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_ROW_OBJECTIVE_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_ROW_OBJECTIVE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/triple.h"
#include "lib/kge/model/kge_shape.h"
#include "lib/kge/new_entities/key_weights.h"
#include "lib/kge/new_entities/other_queries.h"
#include "lib/kge/new_entities/row_prior.h"
#include "lib/kge/new_entities/row_queries.h"
#include "lib/kge/new_entities/table_loss.h"
#include "lib/ranking/kge_scorer.h"

namespace rutile {

// The training examples that a new entity x is in, by the loss of the model (kge_options.h): for losses over keys the
// queries (head, relation) with all their tails, for others the triples, in both directions if the model has inverses.
struct RowExamples {
  // Queries (x, relation) and their labels among the N known entities.
  std::vector<int32_t> relations;
  std::vector<QueryLabels> queries;
  // Queries that have x among their tails, and the label of x, whose candidates are the N known entities and x.
  std::vector<int32_t> tail_heads, tail_relations;
  std::vector<double> tail_labels;
  std::vector<double> tail_counts;  // what their losses are multiplied by: 1, or with KvsAll the mean of the weights
};

// Collects the examples of entity `id` from its triples. known: tails of the training triples, with inverse relations
// if the model has them; their numbers and weights decide about labels of losses over keys. num_relations: R.
RowExamples MakeRowExamples(const KgeShape& shape, const KnownTails& known, const KeyWeights& weights,
                            absl::Span<const Triple> triples, int32_t id, int64_t num_relations,
                            bool inverse_relations);

// What the square of z counts: 1 would make f the negative logarithm of a posterior probability. Measured on
// data/elements (docs/recipes-kge.md): 0.3 ranks better than 1, and 0.1 no better.
inline constexpr double kPriorWeight = 0.3;

// The objective of one new entity as a function of z, with y = [x, bias] = mean + L z (row_prior.h):
//
//   f(z) = sum_(x, r) loss(v(x, r); tails) + sum_(h, r) loss(<v(h, r), x> + bias; label)
//          + sum_others loss(<v, x> + bias; false) + kPriorWeight |z|^2 / 2
//
// The first three sums are what the training loss of the model, without dropout, regularizer and loss of relations,
// depends on x by: queries about x, those with x among their tails, and all others, to which x is a false answer
// (other_queries.h). Softmax losses: candidates of queries about x are the N known entities; another query's loss is
// log(Z + e^s) - y s, with Z the sum of e^s of the known entities, fixed. Binary losses: log(1 + e^s) - y s, N times
// the mean that training takes. For DistMult and ComplEx f is strictly convex, so that it has one minimum.
class RowObjective {
 public:
  // All arguments must outlive this object.
  RowObjective(const RowExamples& examples, const KgeShape& shape, const KgeScorer& scorer, const RowPrior& prior,
               const OtherQueries& others, RowQueries* queries, TableLoss* table);

  // Returns f and overwrites its gradient.
  double operator()(absl::Span<const double> z, absl::Span<double> gradient);

 private:
  double AddQueries(absl::Span<const double> x, absl::Span<double> d_y);
  double AddTails(absl::Span<const double> y, absl::Span<double> d_y) const;

  const RowExamples& examples_;
  const KgeShape& shape_;
  const RowPrior& prior_;
  const OtherQueries& others_;
  RowQueries* const queries_;
  TableLoss* const table_;
  std::vector<double> tail_v_;         // v of the queries that have x as tail, [T, d]
  std::vector<double> tail_log_sums_;  // [T] log Z
  std::vector<double> v_, d_v_;        // [Q, d]
  std::vector<double> other_weights_;  // of the queries that x is no tail of
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_ROW_OBJECTIVE_H_
