#include "tools/evaluate/kge_outputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/file/file.h"
#include "lib/plot/html_report.h"
#include "lib/plot/reliability_plot.h"
#include "lib/ranking/rank_tables.h"
#include "lib/ranking/ranks_file.h"
#include "lib/tensorfile/provenance.h"
#include "tools/evaluate/rank_sample.h"

namespace rutile {
namespace {

constexpr size_t kMostRelations = 50;  // in the report; metrics.tsv has all

std::string Share(double share) { return absl::StrFormat("%.4f", share); }

// Makes the table of ranks among all entities, or of those among candidates.
HtmlTable MetricsHtml(absl::Span<const RankingRow> rows, absl::Span<const int64_t> hits_at,
                      RankSums RankingRow::*sums = &RankingRow::sums) {
  HtmlTable table;
  const bool is_among = sums == &RankingRow::among;
  table.caption =
      "MR, MRR and Hits@k of realistic ranks: a target that ties stands in the middle of its equals. Adjusted MR: mean "
      "rank over that of a random order.";
  if (is_among) {
    table.caption =
        "Ranks among candidates. Outside: targets that are none, which are left out of queries. Candidates: entities "
        "that were compared, on average.";
  }
  table.columns = {
      {"group", "", true}, {"asked for", "", true}, {"queries", "", false}, {"MR", "", false}, {"MRR", "", false}};
  for (const int64_t k : hits_at) table.columns.push_back({absl::StrCat("Hits@", k), "", false});
  table.columns.insert(table.columns.end(),
                       {{"MRR, optimistic", "", false}, {"MRR, pessimistic", "", false}, {"adjusted MR", "", false}});
  if (is_among) table.columns.insert(table.columns.end(), {{"outside", "", false}, {"candidates", "", false}});
  for (const RankingRow& row : rows) {
    const RankSums& s = row.*sums;
    if (s.count == 0) continue;
    std::vector<std::string> cells = {row.grouping == "all" ? "all" : row.group, row.direction, absl::StrCat(s.count),
                                      absl::StrFormat("%.1f", s.mean_rank()), Share(s.mrr())};
    for (size_t i = 0; i < hits_at.size(); ++i) cells.push_back(Share(s.hits_share(static_cast<int>(i))));
    cells.insert(cells.end(), {Share(s.mrr_optimistic()), Share(s.mrr_pessimistic()), Share(s.adjusted_mean_rank())});
    if (is_among) {
      cells.insert(cells.end(), {absl::StrCat(s.outside), absl::StrFormat("%.1f", s.mean_candidates())});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::vector<RankingRow> RowsOf(const KgeEvaluation& evaluation, absl::string_view grouping) {
  std::vector<RankingRow> rows;
  for (const RankingRow& row : evaluation.rows) {
    if (row.grouping == grouping) rows.push_back(row);
  }
  return rows;
}

HtmlTable Facts(const KgeModels& models, const KnowledgeGraph& graph, const KgeEvaluation& evaluation) {
  HtmlTable table;
  table.columns = {{"", "", true}, {"", "", true}};
  for (size_t m = 0; m < models.models.size(); ++m) {
    const KgeShape& shape = models.models[m].shape;
    const KgeOptions& options = shape.options;
    table.rows.push_back({models.is_ensemble() ? models.paths[m] : "model",
                          absl::StrCat(kKgeModelNames.Name(options.model), shape.is_conve() ? ", variant " : "",
                                       shape.is_conve() ? kConveVariantNames.Name(options.variant) : "",
                                       ", embeddings of ", options.embedding_dim, " numbers")});
    table.rows.push_back({"trained with", absl::StrCat("loss ", kKgeLossNames.Name(options.loss))});
  }
  table.rows.push_back({"entities", absl::StrCat(graph.num_entities())});
  if (const auto found = models.first().metadata.find("new_entities"); found != models.first().metadata.end()) {
    table.rows.push_back({"of these, folded in after training", found->second});
  }
  table.rows.push_back(
      {"relations",
       absl::StrCat(graph.num_relations(), models.first().names.inverse_relations ? ", and their inverses" : "")});
  table.rows.push_back({"triples", absl::StrCat(graph.train.size(), " train, ", graph.valid.size(), " valid, ",
                                                graph.test.size(), " test")});
  table.rows.push_back({"ranked", std::string(GraphSplitName(evaluation.options.split))});
  if (!evaluation.sample_note.empty()) {
    table.rows.push_back({"of these", absl::StrCat("a sample of ", evaluation.ranks.tail.size())});
  }
  table.rows.push_back({"left out of comparisons", std::string(RankingFilterName(evaluation.options.filter))});
  if (!evaluation.ranks.candidates.empty()) table.rows.push_back({"also ranked", evaluation.ranks.candidates});
  return table;
}

absl::Status AddProbabilities(const KgeEvaluation& evaluation, HtmlReport* html) {
  const CalibrationMeasures& measures = *evaluation.probabilities;
  html->AddSection("Probabilities");
  html->AddParagraph(absl::StrFormat(
      "By %s. Of %d true and %d false answers: Brier score %.4f, log loss %.4f; lower is better.",
      evaluation.about_probabilities, measures.num_true, measures.num_false, measures.brier, measures.log_loss));
  ReliabilityData data;
  HtmlTable table;
  table.caption = "Probabilities by tenths: what was said, how often it was so, and the share of all answers.";
  table.columns = {{"said", "", false}, {"true", "", false}, {"share", "", false}};
  for (const CalibrationMeasures::Bin& bin : measures.bins) {
    data.predicted.push_back(bin.predicted);
    data.observed.push_back(bin.observed);
    data.share.push_back(bin.share);
    table.rows.push_back({Share(bin.predicted), Share(bin.observed), Share(bin.share)});
  }
  const absl::StatusOr<std::string> svg = ReliabilityPlot(data);
  if (svg.ok()) {
    RETURN_IF_ERROR(html->AddFigure(*svg,
                                    "Answers that are said to be true with some probability, and the share of them "
                                    "that is. The line is where both agree."));
  } else if (absl::IsNotFound(svg.status())) {
    PrintWarning(absl::StrCat("the report has no picture of the probabilities: ", svg.status().message()));
  } else if (!measures.bins.empty()) {
    return svg.status();
  }
  html->AddTable(table);
  return absl::OkStatus();
}

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
  RETURN_IF_ERROR(
      WriteRanksTsv(directory + "/ranks.tsv", graph, RankedTriples(graph, evaluation.options), evaluation.ranks));
  HtmlReport html(absl::StrCat("Evaluation of ", run.args[0]));
  for (const std::string& note : evaluation.notes) html.AddParagraph(note);
  html.AddTable(Facts(models, graph, evaluation));
  html.AddSection("Ranks");
  const auto add_metrics = [&](const std::vector<RankingRow>& rows) {
    html.AddTable(MetricsHtml(rows, evaluation.hits_at));
    if (!evaluation.ranks.candidates.empty()) {
      html.AddTable(MetricsHtml(rows, evaluation.hits_at, &RankingRow::among));
    }
  };
  add_metrics(RowsOf(evaluation, "all"));
  html.AddSection("By category of relation");
  html.AddParagraph(
      "1-N: a head has 1.5 tails or more on average over the training triples; N-1: a tail has as many heads.");
  add_metrics(RowsOf(evaluation, "category"));
  html.AddSection("By relation");
  std::vector<RankingRow> relations = RowsOf(evaluation, "relation");
  std::stable_sort(relations.begin(), relations.end(),
                   [](const RankingRow& a, const RankingRow& b) { return a.sums.count > b.sums.count; });
  if (relations.size() > kMostRelations) {
    html.AddParagraph(absl::StrCat("The ", kMostRelations, " rows with most queries of ", relations.size(),
                                   "; metrics.tsv has all."));
    relations.resize(kMostRelations);
  }
  add_metrics(relations);
  if (evaluation.probabilities.has_value()) RETURN_IF_ERROR(AddProbabilities(evaluation, &html));
  html.AddSection("Commands");
  for (const TrainedKge& model : models.models) {
    for (const char* key : {"triples_command", "command"}) {
      const auto command = model.metadata.find(key);
      if (command != model.metadata.end() && !command->second.empty()) html.AddCode(command->second);
    }
  }
  html.AddCode(ShellCommand(run.command));
  return WriteFileAtomically(directory + "/report.html", html.ToString());
}

}  // namespace rutile
