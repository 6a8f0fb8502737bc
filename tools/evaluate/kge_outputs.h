// What evaluate of a knowledge-graph model leaves in --output_dir.

#ifndef RUTILE_TOOLS_EVALUATE_KGE_OUTPUTS_H_
#define RUTILE_TOOLS_EVALUATE_KGE_OUTPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/kge/model/kge_file.h"
#include "lib/ranking/rank_options.h"
#include "lib/ranking/ranking_metrics.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/shards.h"

namespace rutile {

struct KgeEvaluation {
  RankTriplesOptions options;
  TripleRanks ranks;
  std::vector<int64_t> hits_at;
  std::vector<RankingRow> rows;  // of all, categories and relations
  std::vector<std::string> notes;
};

// metrics.tsv, ranks.tsv, ranks.safetensors and report.html, into a directory that exists. inputs: files of triples or
// ranks.
absl::Status WriteKgeOutputs(const std::string& directory, const ToolRun& run, const std::vector<std::string>& inputs,
                             const TrainedKge& model, const KnowledgeGraph& graph, const KgeEvaluation& evaluation);

// ranks.safetensors alone, or where these are the ranks of part `shard`, that part of it. inputs: the same.
absl::Status WriteRanksOfShard(const std::string& directory, const ToolRun& run, const std::vector<std::string>& inputs,
                               const EvaluateShard& shard, const KnowledgeGraph& graph,
                               const KgeEvaluation& evaluation);

// As printed: the table, with a last column that says so where the convention or the filter is not the usual one.
std::string MetricsTable(const KgeEvaluation& evaluation, absl::Span<const RankingRow> rows);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_KGE_OUTPUTS_H_
