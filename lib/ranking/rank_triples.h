// Ranks of the triples of a split: how a model is judged.
//
// Both directions are ranked, heads through the inverse relation: (h, r, t) asks (h, r, ?) and (t, R + r, ?). Queries
// that several triples share are scored once. Everybody who is known to be right is left out of the comparison, in
// train, valid and test alike, but for the target.

#ifndef RUTILE_LIB_RANKING_RANK_TRIPLES_H_
#define RUTILE_LIB_RANKING_RANK_TRIPLES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/known_tails.h"
#include "lib/ranking/kge_scorer.h"
#include "lib/ranking/rank_options.h"
#include "lib/ranking/ranking_metrics.h"

namespace rutile {

// Of options.triples, or of all triples of the split. A rank does not depend on which others are ranked beside it, but
// for rounding in a scorer whose hidden vectors do. INVALID_ARGUMENT: the model has other numbers of entities or
// relations than the graph; the split is empty; what CheckRankTriplesOptions says. known: of all splits with the
// scorer's inverses, used for the filter kAll; null: built here. CANCELLED after a signal. CHECK-fails for a triple
// that the split does not have.
absl::StatusOr<TripleRanks> RankTriples(const KgeScorer& scorer, const KnowledgeGraph& graph, const KnownTails* known,
                                        const RankTriplesOptions& options);

// INVALID_ARGUMENT, naming both: other numbers of entities, or neither as many relations as the graph nor twice as
// many.
absl::Status CheckScorer(const KgeScorer& scorer, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANK_TRIPLES_H_
