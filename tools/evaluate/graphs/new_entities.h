// The flags of evaluate that add entities to a model of embeddings: --new_triples and what is written of it.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_NEW_ENTITIES_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_NEW_ENTITIES_H_

#include <string>

#include "absl/status/status.h"
#include "lib/graph/knowledge_graph.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/graphs/kge_models.h"

namespace rutile {

// True if --new_triples is given.
bool AddsEntities();
// Returns the file of --new_triples.
const std::string& NewTriplesFile();

// INVALID_ARGUMENT for flags that have no effect with --new_triples, or without. output_model: value of --output_model;
// with this or --output_triples the grown model is written and nothing is evaluated.
absl::Status CheckNewEntityFlags(const std::string& output_model);

// Folds the new entities into all models, and adds them with their triples to `graph`, which then has the models' ids.
// Prints what was done. Errors of ReadNewTriples, GrowGraph and FoldIn.
absl::Status AddNewEntities(const ToolRun& run, KgeModels* models, KnowledgeGraph* graph);

// True if the result is to be written and not evaluated.
bool WritesNewEntities(const std::string& output_model);
// Writes --output_model, the first and only model, and --output_triples.
absl::Status WriteNewEntities(const ToolRun& run, const std::string& output_model, const KgeModels& models,
                              const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_NEW_ENTITIES_H_
