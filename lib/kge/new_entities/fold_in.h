// Folds new entities into a trained model: finds a row for each from a few triples, with all else of the model fixed.
//
//   ASSIGN_OR_RETURN(const NewTriples added, ReadNewTriples("new.tsv", model.names));
//   ASSIGN_OR_RETURN(const KnowledgeGraph grown, GrowGraph(model.names, graph, added));
//   ASSIGN_OR_RETURN(const FoldedRows folded, FoldIn(model, added, grown, /*num_threads=*/2));
//   const TrainedKge with_new = GrowModel(model, added, grown, folded.rows);

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_FOLD_IN_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_FOLD_IN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/text/new_triples.h"
#include "lib/kge/model/kge_file.h"

namespace rutile {

// Rows of new entities, and how the search for them went.
struct FoldedRows {
  std::vector<std::vector<double>> rows;  // [new entities][d], or d + 1 numbers with the entity's bias
  // The largest slope of any entity's objective where the search ended. It is nearly 0 but for ConvE, whose relu has
  // kinks: a search may end at one, as the lowest point nearby.
  double largest_gradient = 0;
  int64_t num_stopped = 0;  // entities whose search did not end at a minimum
};

// Finds the row of each new entity, which minimizes the objective of row_objective.h. New entities do not see each
// other, so their order does not matter. grown: from GrowGraph. The rows do not depend on num_threads.
// INVALID_ARGUMENT: a model whose rows or scores are not finite.
absl::StatusOr<FoldedRows> FoldIn(const TrainedKge& model, const NewTriples& added, const KnowledgeGraph& grown,
                                  int num_threads);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_FOLD_IN_H_
