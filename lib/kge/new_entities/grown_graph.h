// Adds new entities to the data of a model, and to the model.

#ifndef RUTILE_LIB_KGE_NEW_ENTITIES_GROWN_GRAPH_H_
#define RUTILE_LIB_KGE_NEW_ENTITIES_GROWN_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/text/new_triples.h"
#include "lib/kge/model/kge_file.h"

namespace rutile {

// The metadata of a model that says how many of its last entities were folded in after training.
inline constexpr char kNewEntitiesKey[] = "new_entities";
// Returns that number, 0 if the metadata do not have it.
int64_t NumNewEntities(const Metadata& metadata);

// Returns the graph with the ids of a model: its entities, then the new ones, and its relations. The new triples become
// training triples, so that they are known answers. names: those of the model. graph: has all names of the model and no
// other but new ones, in any order, so that it may hold questions about new entities. INVALID_ARGUMENT naming an entity
// or relation that one of both lacks, a new triple that is a validation or
// test triple, or inverse relations that one of both lacks.
absl::StatusOr<KnowledgeGraph> GrowGraph(const KnowledgeGraph& names, const KnowledgeGraph& graph,
                                         const NewTriples& added);

// Returns the model with rows for the new entities. rows: [names.size()][d], or d + 1 numbers with the entity's bias.
// grown: the graph of GrowGraph, from which labels, types and hashes of splits are taken. The hashes say that the model
// learned from the new triples, too, if they said before that it learned from those of the graph; they let
// SplitWarnings see the triples that chose the model. The hash of the triples that probabilities were fitted to
// follows.
TrainedKge GrowModel(const TrainedKge& model, const NewTriples& added, const KnowledgeGraph& grown,
                     const std::vector<std::vector<double>>& rows);

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_NEW_ENTITIES_GROWN_GRAPH_H_
