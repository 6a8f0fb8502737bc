// The models of embeddings that evaluate is given: one, or several that answer together.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_MODELS_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_MODELS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/ranking/kge_scorer.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Models with the names of their files.
struct KgeModels {
  std::vector<std::string> paths;
  std::vector<TrainedKge> models;  // of one vocabulary

  const TrainedKge& first() const { return models[0]; }
  bool is_ensemble() const { return models.size() > 1; }
  // Returns the scorer of the model, or of all together (MakeEnsembleScorer, with its errors). It shares the models'
  // parameters.
  absl::StatusOr<KgeScorer> Scorer(int num_threads) const;
};

// Returns the number of entities that were folded in after training (--new_triples), which have the last ids: of
// several models, the largest.
int64_t NumFoldedIn(const KgeModels& models);

// Reads the models that the first argument names, with commas between. One model may be of another project, together
// with the names of the triples, which then sets `graph`; it is written to `output_model`, unless that is empty.
// embedding_height: of its image, or 0. INVALID_ARGUMENT: a model comes twice, is of another vocabulary than the first,
// or is one of several and of another project.
absl::StatusOr<KgeModels> ReadKgeModels(const ToolRun& run, int64_t embedding_height, const std::string& output_model,
                                        std::optional<KnowledgeGraph>* graph);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_MODELS_H_
