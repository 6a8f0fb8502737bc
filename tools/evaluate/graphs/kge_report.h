// Writes the page about a knowledge-graph model: its ranks by relation and frequency, probabilities, training.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_REPORT_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"
#include "lib/ranking/ranking_metrics.h"
#include "tools/common/run/run_tool.h"
#include "tools/evaluate/graphs/kge_models.h"
#include "tools/evaluate/graphs/kge_outputs.h"

namespace rutile {

// What the report is about; nothing is owned.
struct KgeReport {
  const std::string& triples;  // file that the graph was read from
  const KgeModels& models;
  const KnowledgeGraph& graph;
  const KgeEvaluation& evaluation;
  const std::vector<Triple>& learned;           // training triples that count: not of weight 0 or of folded-in entities
  const std::vector<RankingRow>& by_frequency;  // of EntityFrequencies of these
};

// Writes report.html into an existing directory, and beside it the pictures that there is data for:
// ranks_by_relation.svg, ranks_by_frequency.svg, reliability.svg, learning_curve.svg. Returns a warning, "" if there is
// none: where a picture cannot be drawn (gnuplot is not installed or fails), the page says why in its place. Errors:
// those of writing files.
absl::StatusOr<std::string> WriteKgeReport(const std::string& directory, const ToolRun& run, const KgeReport& report);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_KGE_REPORT_H_
