#include "tools/evaluate/graphs/kge_outputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/graph/triple.h"
#include "lib/graph/triple_weights.h"
#include "lib/ranking/rank_tables.h"
#include "lib/ranking/ranks_file.h"
#include "lib/tensorfile/provenance.h"
#include "tools/evaluate/graphs/kge_report.h"
#include "tools/evaluate/graphs/rank_sample.h"

namespace rutile {
namespace {

// Returns how many targets metrics among candidates leave out; "" if there are none.
std::string OutsideNote(absl::Span<const RankingRow> rows) {
  int64_t outside = 0;
  std::vector<std::string> parts;
  for (const RankingRow& row : rows) {
    if (row.grouping != "all" || row.direction == "both" || row.among.outside == 0) continue;
    outside += row.among.outside;
    parts.push_back(absl::StrCat(row.among.outside, " of ", row.sums.count, " ", row.direction, "s"));
  }
  if (outside == 0) return "";
  return absl::StrCat(absl::StrJoin(parts, " and "),
                      " are no candidates themselves: they are left out of the metrics among candidates (column "
                      "among_outside), which therefore are of fewer queries than the others");
}

// Returns the training triples that the models learned from: those with a weight above 0, and without entities that
// were folded in afterward, which have the last ids.
std::vector<Triple> LearnedTriples(const KgeModels& models, const KnowledgeGraph& graph) {
  const int64_t num_trained = graph.num_entities() - NumFoldedIn(models);
  std::vector<Triple> learned;
  for (size_t i = 0; i < graph.train.size(); ++i) {
    const Triple& triple = graph.train[i];
    const bool is_known = triple.head < num_trained && triple.tail < num_trained;
    if (is_known && WeightOf(graph.train_weights, i) > 0) learned.push_back(triple);
  }
  return learned;
}

}  // namespace

std::vector<std::string> EvaluationNotes(const KgeEvaluation& evaluation) {
  std::vector<std::string> notes;
  const RankTriplesOptions& options = evaluation.options;
  if (options.convention != RankingConvention::kStandard) notes.push_back(ConventionNote(options.convention));
  if (options.convention == RankingConvention::kStandard && evaluation.ranks.head.empty() &&
      options.direction == RankingDirection::kAuto) {
    notes.push_back(
        "tails alone are ranked: the model has no inverse relations (--direction=both scores all heads, slowly)");
  }
  if (options.convention == RankingConvention::kStandard && options.filter != RankingFilter::kAll) {
    notes.push_back(absl::StrCat("--filter=", RankingFilterName(options.filter),
                                 ": targets are also compared with known triples of other splits"));
  }
  if (!evaluation.sample_note.empty()) notes.push_back(evaluation.sample_note);
  int64_t nan = 0, count = 0;
  for (const RankingRow& row : evaluation.rows) {
    if (row.grouping != "all" || row.direction == "both") continue;
    nan += row.sums.nan;
    count += row.sums.count;
  }
  if (nan > 0) {
    notes.push_back(absl::StrCat(
        nan, " of ", count, " targets have NaN as score: ",
        options.convention == RankingConvention::kStandard ? "they rank last" : "the convention favors them"));
  }
  if (std::string note = OutsideNote(evaluation.rows); !note.empty()) notes.push_back(std::move(note));
  return notes;
}

std::string MetricsTable(const KgeEvaluation& evaluation, absl::Span<const RankingRow> rows) {
  const std::string table = RankingRowsToTsv(rows, evaluation.hits_at);
  std::string mark;
  if (evaluation.options.convention != RankingConvention::kStandard) {
    mark = absl::StrCat("wrong, for comparison: ", RankingConventionName(evaluation.options.convention));
  } else if (evaluation.options.filter != RankingFilter::kAll) {
    mark = absl::StrCat("filter ", RankingFilterName(evaluation.options.filter));
  }
  if (!evaluation.sample_note.empty()) {
    absl::StrAppend(&mark, mark.empty() ? "" : ", ", "sample of ", evaluation.ranks.tail.size());
  }
  if (mark.empty()) return table;
  std::string marked;
  for (const absl::string_view line : absl::StrSplit(table, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&marked, line, "\t", marked.empty() ? "convention" : mark, "\n");
  }
  return marked;
}

absl::Status WriteRanksOfShard(const std::string& directory, const ToolRun& run, const std::vector<std::string>& inputs,
                               const KgeModels& models, const EvaluateShard& shard, const KnowledgeGraph& graph,
                               const KgeEvaluation& evaluation) {
  std::vector<std::string> files = models.paths;
  files.insert(files.end(), inputs.begin(), inputs.end());
  ASSIGN_OR_RETURN(Metadata metadata, OutputMetadata(run, RanksSchema().kind, files));
  shard.Describe(&metadata);
  if (models.is_ensemble()) metadata["models"] = absl::StrCat(models.models.size());
  return WriteRanks(shard.Path(directory, "ranks"), graph, evaluation.options, evaluation.ranks, metadata);
}

absl::Status WriteKgeOutputs(const std::string& directory, const ToolRun& run, const std::vector<std::string>& inputs,
                             const KgeModels& models, const KnowledgeGraph& graph, const KgeEvaluation& evaluation) {
  RETURN_IF_ERROR(WriteRanksOfShard(directory, run, inputs, models, {}, graph, evaluation));
  RETURN_IF_ERROR(WriteFileAtomically(directory + "/metrics.tsv", MetricsTable(evaluation, evaluation.rows)));
  const std::vector<Triple> ranked = RankedTriples(graph, evaluation.options);
  RETURN_IF_ERROR(WriteRanksTsv(directory + "/ranks.tsv", graph, ranked, evaluation.ranks));
  const std::vector<Triple> learned = LearnedTriples(models, graph);
  const std::vector<RankingRow> by_frequency = ComputeFrequencyRows(ranked, evaluation.ranks, evaluation.hits_at,
                                                                    EntityFrequencies(learned, graph.num_entities()));
  RETURN_IF_ERROR(WriteFileAtomically(directory + "/metrics_by_frequency.tsv", MetricsTable(evaluation, by_frequency)));
  ASSIGN_OR_RETURN(const std::string warning,
                   WriteKgeReport(directory, run, {inputs[0], models, graph, evaluation, learned, by_frequency}));
  if (!warning.empty()) PrintWarning(warning);
  return absl::OkStatus();
}

}  // namespace rutile
