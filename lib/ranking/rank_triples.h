// Ranks the triples of a split: how a knowledge-graph model is judged.
//
// Both directions are ranked, heads through the inverse relation: (h, r, t) asks (h, r, ?) and (t, R + r, ?). Queries
// that several triples share are scored once. Known answers other than the target are left out of the comparison, in
// train, valid and test alike.
//
//   RankTriplesOptions options;
//   options.split = GraphSplit::kValid;
//   ASSIGN_OR_RETURN(const TripleRanks ranks, RankTriples(scorer, graph, /*known=*/nullptr, options));
//   const std::vector<int64_t> hits_at = {1, 3, 10};
//   const std::vector<RankingRow> rows = ComputeRankingRows(graph.valid, ranks, hits_at, /*groups=*/{});
//   LOG(INFO) << "MRR " << rows[0].sums.mrr();

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

// Ranks options.triples, or all triples of the split. A rank does not depend on the other triples, except for rounding
// in a scorer whose hidden vectors do. known: the known tails of all splits with the scorer's inverses, used for the
// filter kAll; null: built here. INVALID_ARGUMENT: the model has other numbers of entities or relations than the graph;
// the split is empty; errors of CheckRankTriplesOptions. CANCELLED after a signal. CHECK-fails for a triple that is not
// in the split.
absl::StatusOr<TripleRanks> RankTriples(const KgeScorer& scorer, const KnowledgeGraph& graph, const KnownTails* known,
                                        const RankTriplesOptions& options);

// Checks that scorer and graph fit. INVALID_ARGUMENT, naming both numbers: other numbers of entities, or a number of
// relations that is neither the graph's nor twice that.
absl::Status CheckScorer(const KgeScorer& scorer, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANK_TRIPLES_H_
