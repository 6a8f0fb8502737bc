// Writes the files that evaluate of a knowledge-graph model leaves in --output_dir.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_OUTPUTS_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_OUTPUTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/calibration/calibration.h"
#include "lib/evaluation/training_log.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/ranking/rank_options.h"
#include "lib/ranking/ranking_metrics.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/graphs/kge_models.h"
#include "tools/evaluate/shards.h"

namespace rutile {

// The result of an evaluation.
struct KgeEvaluation {
  RankTriplesOptions options;
  TripleRanks ranks;
  std::vector<int64_t> hits_at;
  std::vector<RankingRow> rows;    // for all triples, categories and relations
  std::optional<TrainingLog> log;  // of the run that made the model
  std::vector<std::string> notes;
  std::string sample_note;                           // that these are the ranks of a sample; empty if they are not
  std::optional<CalibrationMeasures> probabilities;  // of a model that has them
  std::string about_probabilities;                   // "platt, at a base rate of 0.5 among all entities"
};

// Returns remarks that readers of the numbers need; they go to standard error and into the report.
std::vector<std::string> EvaluationNotes(const KgeEvaluation& evaluation);

// Writes metrics.tsv, metrics_by_frequency.tsv, ranks.tsv, ranks.safetensors, and report.html with its pictures into an
// existing directory. inputs: the file of triples, then those of ranks and candidates.
absl::Status WriteKgeOutputs(const std::string& directory, const ToolRun& run, const std::vector<std::string>& inputs,
                             const KgeModels& models, const KnowledgeGraph& graph, const KgeEvaluation& evaluation);

// Writes ranks.safetensors only or, if these are the ranks of part `shard`, the file of that part. inputs: files of
// triples or ranks.
absl::Status WriteRanksOfShard(const std::string& directory, const ToolRun& run, const std::vector<std::string>& inputs,
                               const KgeModels& models, const EvaluateShard& shard, const KnowledgeGraph& graph,
                               const KgeEvaluation& evaluation);

// Returns the table as printed, with an additional last column if the convention or the filter is not the usual one.
std::string MetricsTable(const KgeEvaluation& evaluation, absl::Span<const RankingRow> rows);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_OUTPUTS_H_
