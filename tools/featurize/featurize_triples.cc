#include "tools/featurize/featurize_triples.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/interrupt.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/graph/text/build_graph.h"
#include "lib/graph/text/formats/kg_format.h"
#include "lib/graph/triples_file.h"
#include "tools/common/flags/output_flags.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/featurize/triples_flags.h"
#include "tools/featurize/triples_inputs.h"
#include "tools/featurize/triples_report.h"

namespace rutile {
namespace {

constexpr int kFilesLookedAt = 8;

// Refuses known-false triples of which none would be learned: their column is rather a label, 0 for what is false.
absl::Status CheckSomeAreLearned(const BuildGraphOptions& options, const KnowledgeGraph& graph) {
  const std::vector<double>& weights = graph.negative_weights;
  if (weights.empty() || std::any_of(weights.begin(), weights.end(), [](double w) { return w > 0; })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(options.negatives, " + "), ": the weights of all ", weights.size(),
      " known-false triples are 0, and training would learn none of them. If column ", options.table.weight_column,
      " of --weight_column is a label, 0 for a false triple, it is no weight: give --columns=1,2,3, or the columns "
      "that "
      "hold head, relation and tail, instead of --weight_column, or --negatives without that column, whose weights are "
      "then 1"));
}

}  // namespace

absl::StatusOr<bool> IsKnowledgeGraph(const ToolRun& run) {
  if (TriplesFlagsGiven()) return true;
  const absl::StatusOr<std::vector<std::string>> inputs = ExpandInputs(run.args);
  if (!inputs.ok()) return false;
  const int n = std::min<int>(kFilesLookedAt, static_cast<int>(inputs->size()));
  for (int i = 0; i < n; ++i) {
    const absl::StatusOr<KgFormat> format = DetectKgFormatOfFile((*inputs)[i]);
    // What is no text at all is neither structures nor triples.
    if (absl::IsInvalidArgument(format.status())) return format.status();
    if (format.ok() && *format != KgFormat::kOther) return true;
  }
  return false;
}

absl::Status FeaturizeTriples(const ToolRun& run) {
  RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kPotentials, "with a knowledge graph"));
  RETURN_IF_ERROR(RefuseFlags("with a knowledge graph", {"threads"}));
  ASSIGN_OR_RETURN(const std::string output, OutputFromFlags());
  ASSIGN_OR_RETURN(BuildGraphOptions options, BuildGraphOptionsFromFlags(run));
  ProgressBar progress("featurize", /*total=*/-1, ProgressFromFlags());
  options.on_progress = [&](int64_t lines) { progress.Add(lines); };
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const BuiltGraph built, BuildGraph(options));
  RETURN_IF_ERROR(CheckSomeAreLearned(options, built.graph));
  RETURN_IF_ERROR(RefuseUnusedTriplesFlags(built.report));
  const std::string edge_map_output = EdgeMapOutputFromFlags();
  if (!edge_map_output.empty() && (built.edge_map.size() == 0 || !built.edge_map.grows())) {
    return absl::InvalidArgumentError(absl::StrCat("--edge_map_output=", edge_map_output,
                                                   built.edge_map.grows()
                                                       ? ": there are no KGX edges that would give a map"
                                                       : ": the map is given, by --edge_map"));
  }
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, TriplesSchema().kind, AllInputs(options)));
  metadata["entity_ids"] = options.entity_to_id.empty() ? "found" : "given";
  if (options.split.is_wanted()) metadata["split"] = SplitMetadata(options.split);
  RETURN_IF_ERROR(CheckInterrupt());
  RETURN_IF_ERROR(WriteTriples(output, built.graph, metadata));
  if (!edge_map_output.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(edge_map_output, built.edge_map.ToJson()));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.Finish();

  PrintTriplesReport(options, built);
  const BuildGraphReport& report = built.report;
  PrintMessage(absl::StrFormat(
      "%d entities, %d relations%s; triples: train %d, valid %d, test %d; %d lines left out; %.2f s -> %s",
      built.graph.num_entities(), built.graph.num_relations(),
      options.inverse_relations ? " and their inverses" : ", no inverses", report.splits[0].triples,
      report.splits[1].triples, report.splits[2].triples, NumLeftOut(options, report), seconds, output));
  return absl::OkStatus();
}

}  // namespace rutile
