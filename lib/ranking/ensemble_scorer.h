// Several models as one: an answer's score is the sum of its scores by the models, each standardized over all entities.

#ifndef RUTILE_LIB_RANKING_ENSEMBLE_SCORER_H_
#define RUTILE_LIB_RANKING_ENSEMBLE_SCORER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lib/ranking/kge_scorer.h"

namespace rutile {

// Makes a scorer of the models' sum. For each query a model's scores s_e of the N entities become
// (s_e - mean) / deviation, so that models of any scale and loss weigh the same. A model whose scores of a query are
// all equal adds nothing. One row of an entity is its rows in all models one after the other, less their means, with
// its bias as one more number, so that ranking and prediction need not know: the deviation of all scores is the square
// root of v^T C v, C the covariance of a model's rows. It takes memory for a copy of all entities, and while it is made
// for two more in double.
//
// The type is F64 if that of a model is. INVALID_ARGUMENT: the models differ in their numbers of entities or relations,
// a row is not finite, or scores are distances.
//
// Means and deviations of `hidden` are those of the tails of a query (head, relation). Heads of (?, relation, tail), of
// models without inverses, have scores of their own (KgeScorer::heads_of): each model's s(h, relation, tail),
// standardized over all heads h. The scorer of a relation takes memory for the vectors of all heads and the rows of all
// tails, and while it is made for those of one model in double, and time N d^2 beside that of the vectors.
//
// num_threads >= 1 share the work, with the same bits for any number. The scorer and its `heads_of` may be called by
// one thread at a time.
absl::StatusOr<KgeScorer> MakeEnsembleScorer(std::vector<KgeScorer> models, int num_threads = 1);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_ENSEMBLE_SCORER_H_
