// What evaluate of a knowledge-graph model leaves in --output_dir.

#ifndef RUTILE_TOOLS_EVALUATE_KGE_OUTPUTS_H_
#define RUTILE_TOOLS_EVALUATE_KGE_OUTPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/kg/kge_file.h"
#include "lib/kg/knowledge_graph.h"
#include "lib/kg/rank_options.h"
#include "lib/kg/ranking_metrics.h"
#include "tools/common/run_tool.h"

namespace rutile {

struct KgeEvaluation {
  RankTriplesOptions options;
  TripleRanks ranks;
  std::vector<int64_t> hits_at;
  std::vector<RankingRow> rows;  // of all, categories and relations
  std::vector<std::string> notes;
};

// metrics.tsv, ranks.tsv and report.html, into a directory that exists.
absl::Status WriteKgeOutputs(const std::string& directory, const ToolRun& run, const TrainedKge& model,
                             const KnowledgeGraph& graph, const KgeEvaluation& evaluation);

// As printed: the table, with a last column that says so where the convention or the filter is not the usual one.
std::string MetricsTable(const KgeEvaluation& evaluation, absl::Span<const RankingRow> rows);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_KGE_OUTPUTS_H_
