#include "tools/evaluate/graphs/kge_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/base/status_macros.h"
#include "lib/evaluation/learning_curve.h"
#include "lib/file/file.h"
#include "lib/graph/triples_file.h"
#include "lib/influence/files/subsets_file.h"
#include "lib/kge/model/kge_file.h"
#include "lib/plot/html_report.h"
#include "lib/plot/rank_plot.h"
#include "lib/plot/reliability_plot.h"
#include "lib/plot/report_pictures.h"
#include "lib/ranking/rank_options.h"
#include "lib/ranking/ranking_metrics.h"
#include "lib/tensorfile/provenance.h"
#include "tools/evaluate/train_log.h"

namespace rutile {
namespace {

constexpr size_t kWorst = 10;           // relations that are not folded
constexpr size_t kMostRelations = 500;  // in the report; metrics.tsv has all

std::string Share(double share) { return absl::StrFormat("%.4f", share); }

// Makes the table of ranks among all entities, or of those among candidates.
HtmlTable MetricsHtml(absl::Span<const RankingRow> rows, absl::Span<const int64_t> hits_at,
                      RankSums RankingRow::*sums = &RankingRow::sums) {
  HtmlTable table;
  const bool is_among = sums == &RankingRow::among;
  table.caption =
      "MR, MRR and Hits@k of realistic ranks: a target that ties stands in the middle of its equals. Adjusted MRR: "
      "1 is perfect, 0 as good as a random order. Tied: targets whose score others have, too.";
  if (is_among) {
    table.caption =
        "Ranks among candidates. Outside: targets that are none, which are left out of queries. Candidates: entities "
        "that were compared, on average.";
  }
  table.columns = {{"asked for", "", true}, {"queries", "", false}, {"MR", "", false}, {"MRR", "", false}};
  for (const int64_t k : hits_at) table.columns.push_back({absl::StrCat("Hits@", k), "", false});
  table.columns.insert(table.columns.end(), {{"MRR, optimistic", "", false},
                                             {"MRR, pessimistic", "", false},
                                             {"adjusted MRR", "", false},
                                             {"tied", "", false}});
  if (is_among) table.columns.insert(table.columns.end(), {{"outside", "", false}, {"candidates", "", false}});
  for (const RankingRow& row : rows) {
    const RankSums& s = row.*sums;
    if (row.grouping != "all" || s.count == 0) continue;
    std::vector<std::string> cells = {row.direction, absl::StrCat(s.count), absl::StrFormat("%.1f", s.mean_rank()),
                                      Share(s.mrr())};
    for (size_t i = 0; i < hits_at.size(); ++i) cells.push_back(Share(s.hits_share(static_cast<int>(i))));
    const double adjusted = s.adjusted_mrr();
    cells.insert(cells.end(), {Share(s.mrr_optimistic()), Share(s.mrr_pessimistic()),
                               std::isnan(adjusted) ? "" : Share(adjusted), absl::StrCat(s.tied)});
    if (is_among) {
      cells.insert(cells.end(), {absl::StrCat(s.outside), absl::StrFormat("%.1f", s.mean_candidates())});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// The rows of one group: of both sides, and of each.
struct Group {
  std::string name;
  const RankingRow* all = nullptr;  // of both sides, or of the only one
  const RankingRow *tail = nullptr, *head = nullptr;
};

// Returns the groups of a grouping, in the order of their rows.
std::vector<Group> GroupsOf(absl::Span<const RankingRow> rows, absl::string_view grouping) {
  std::vector<Group> groups;
  for (const RankingRow& row : rows) {
    if (row.grouping != grouping) continue;
    if (groups.empty() || groups.back().name != row.group) groups.push_back({row.group, &row});
    if (row.direction == "tail") groups.back().tail = &row;
    if (row.direction == "head") groups.back().head = &row;
  }
  return groups;
}

// Returns the sums of a group: of both sides or, where one side alone has candidates, of that one.
const RankSums& SumsOf(const Group& group, RankSums RankingRow::*sums) {
  for (const RankingRow* row : {group.all, group.tail, group.head}) {
    if (row != nullptr && (row->*sums).count > 0) return row->*sums;
  }
  return group.all->*sums;
}

// Makes a table with one row for each group. title: of the first column. triples: of each group in training, in a
// column of its own unless it is empty.
HtmlTable GroupTable(absl::Span<const Group> groups, const std::string& title, absl::Span<const int64_t> triples,
                     absl::Span<const int64_t> hits_at, RankSums RankingRow::*sums = &RankingRow::sums) {
  HtmlTable table;
  const bool is_among = sums == &RankingRow::among;
  if (is_among) table.caption = "Ranks among candidates.";
  table.columns = {{title, "", true}};
  if (!triples.empty()) table.columns.push_back({"training triples", "", false});
  table.columns.insert(table.columns.end(), {{"queries", "", false},
                                             {"MR", "", false},
                                             {"MRR", "", false},
                                             {"MRR", "tails", false},
                                             {"MRR", "heads", false}});
  for (const int64_t k : hits_at) table.columns.push_back({absl::StrCat("Hits@", k), "", false});
  if (is_among) table.columns.insert(table.columns.end(), {{"outside", "", false}, {"candidates", "", false}});
  const auto mrr = [&](const RankingRow* row) {
    return row == nullptr || (row->*sums).count == 0 ? "" : Share((row->*sums).mrr());
  };
  for (size_t g = 0; g < groups.size(); ++g) {
    const RankSums& s = SumsOf(groups[g], sums);
    if (s.count == 0) continue;
    std::vector<std::string> cells = {groups[g].name};
    if (!triples.empty()) cells.push_back(absl::StrCat(triples[g]));
    cells.insert(cells.end(), {absl::StrCat(s.count), absl::StrFormat("%.1f", s.mean_rank()), Share(s.mrr()),
                               mrr(groups[g].tail), mrr(groups[g].head)});
    for (size_t i = 0; i < hits_at.size(); ++i) cells.push_back(Share(s.hits_share(static_cast<int>(i))));
    if (is_among) {
      cells.insert(cells.end(), {absl::StrCat(s.outside), absl::StrFormat("%.1f", s.mean_candidates())});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// Adds the table of groups and, where there are candidates, that of ranks among them.
void AddGroups(absl::Span<const Group> groups, const std::string& title, absl::Span<const int64_t> triples,
               const KgeEvaluation& evaluation, absl::string_view summary, HtmlReport* html) {
  html->AddTable(GroupTable(groups, title, triples, evaluation.hits_at), summary);
  if (evaluation.ranks.candidates.empty()) return;
  HtmlTable among = GroupTable(groups, title, triples, evaluation.hits_at, &RankingRow::among);
  if (among.rows.empty()) return;
  const TripleRanks& ranks = evaluation.ranks;
  if (!ranks.head.empty() && ranks.tail_among.empty() != ranks.head_among.empty()) {
    among.caption =
        absl::StrCat("Ranks among candidates, of queries for ", ranks.head_among.empty() ? "tails" : "heads",
                     " alone, as the other side has no candidates.");
  }
  html->AddTable(among, summary.empty() ? "" : absl::StrCat(summary, ", among candidates"));
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

// Returns which training triples the numbers of training triples leave out; "" if they count all.
std::string UncountedNote(const KgeReport& report) {
  const size_t left_out = report.graph.train.size() - report.learned.size();
  if (left_out == 0) return "";
  return absl::StrCat(
      "Of ", report.graph.train.size(), " training triples in ", report.triples, ", ", left_out,
      " do not count, as training did not learn from them: they have the weight 0 or an entity that was "
      "folded in afterward.");
}

// Adds the relations, those with the lowest MRR first; after ten, the rest is folded.
absl::Status AddRelations(const KgeReport& report, ReportPictures* pictures) {
  const KnowledgeGraph& graph = report.graph;
  const KgeEvaluation& evaluation = report.evaluation;
  std::vector<Group> groups = GroupsOf(evaluation.rows, "relation");
  if (groups.empty()) return absl::OkStatus();
  std::vector<int64_t> triples_of(graph.num_relations());
  for (const Triple& triple : report.learned) ++triples_of[triple.relation];
  absl::flat_hash_map<absl::string_view, int64_t> id;
  for (int64_t r = 0; r < graph.num_relations(); ++r) id[graph.relations[r]] = r;
  // A convention of others gives targets whose score is NaN the rank 0, and so an infinite MRR.
  const auto mrr = [](const Group& group) {
    const double value = group.all->sums.mrr();
    return std::isfinite(value) ? value : std::numeric_limits<double>::max();
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    return mrr(a) != mrr(b) ? mrr(a) < mrr(b) : a.all->sums.count > b.all->sums.count;
  });
  std::vector<int64_t> triples;
  std::vector<RelationRanks> points;
  for (Group& group : groups) {
    const int64_t r = id.at(group.name);
    triples.push_back(triples_of[r]);
    points.push_back(
        {static_cast<double>(triples.back()), static_cast<double>(group.all->sums.count), group.all->sums.mrr()});
    if (graph.relation_labels.empty() || graph.relation_labels[r].empty()) continue;
    if (graph.relation_labels[r] != group.name) {
      group.name = absl::StrCat(graph.relation_labels[r], " (", group.name, ")");
    }
  }
  HtmlReport* const html = pictures->html();
  html->AddSection("By relation");
  RETURN_IF_ERROR(pictures->Add("ranks_by_relation.svg", RelationPlot(points),
                                "MRR of each relation over the number of its training triples; the area of a point is "
                                "its share of the queries."));
  html->AddParagraph("The relations with the lowest MRR come first. That of few queries says little.");
  if (const std::string note = UncountedNote(report); !note.empty()) html->AddParagraph(note);
  const size_t worst = std::min(groups.size(), kWorst), shown = std::min(groups.size(), kMostRelations);
  const auto all = absl::MakeConstSpan(groups);
  const auto all_triples = absl::MakeConstSpan(triples);
  AddGroups(all.first(worst), "relation", all_triples.first(worst), evaluation, "", html);
  if (shown > worst) {
    AddGroups(all.subspan(worst, shown - worst), "relation", all_triples.subspan(worst, shown - worst), evaluation,
              absl::StrCat(shown - worst, " more relations"), html);
  }
  if (shown < groups.size()) {
    html->AddParagraph(absl::StrCat("These are ", shown, " of ", groups.size(), " relations; metrics.tsv has all."));
  }
  return absl::OkStatus();
}

// Returns what a reader of frequencies must know of the models: training triples are those of the file, which need not
// be those that a model learned from.
std::vector<std::string> FrequencyNotes(const KgeModels& models, const KnowledgeGraph& graph,
                                        const std::string& triples) {
  std::vector<std::string> notes;
  const std::string hash = TripleSetSha256(graph, graph.train);
  for (size_t m = 0; m < models.models.size(); ++m) {
    const Metadata& metadata = models.models[m].metadata;
    const auto learned = metadata.find("train_sha256");
    if (learned == metadata.end()) {
      notes.push_back(absl::StrCat("Which triples ", models.paths[m],
                                   " learned from is not known, as it does not record their hash."));
    } else if (learned->second != hash) {
      notes.push_back(absl::StrCat(models.paths[m], " learned from other training triples than those of ", triples,
                                   ", so that it saw the answers more or less often than the numbers say."));
    }
    if (metadata.count(kSubsetKey) > 0) {
      notes.push_back(absl::StrCat(models.paths[m],
                                   " learned from a part of its training triples (train --subset); all are counted."));
    }
  }
  return notes;
}

// Adds ranks by how often training saw the answer.
absl::Status AddFrequencies(const KgeReport& report, ReportPictures* pictures) {
  std::vector<Group> groups = GroupsOf(report.by_frequency, "frequency");
  if (groups.empty()) return absl::OkStatus();
  HtmlReport* const html = pictures->html();
  html->AddSection("By frequency of the answer");
  html->AddParagraph(absl::StrCat(
      "The answer is the tail where a tail is asked for, and the head where a head is. Its frequency is the "
      "number of training triples of ",
      report.triples, " that it is in, as head or tail. Groups are powers of two."));
  if (const std::string note = UncountedNote(report); !note.empty()) html->AddParagraph(note);
  for (const std::string& note : FrequencyNotes(report.models, report.graph, report.triples)) html->AddParagraph(note);
  std::vector<std::string> names;
  std::vector<double> share;
  GroupRanks tails = {"tails", {}}, heads = {"heads", {}};
  double total = 0;
  for (Group& group : groups) {
    group.name = absl::StrReplaceAll(group.name, {{"-", "–"}});
    names.push_back(group.name);
    share.push_back(static_cast<double>(group.all->sums.count));
    total += share.back();
    for (const auto& [side, row] : {std::make_pair(&tails, group.tail), std::make_pair(&heads, group.head)}) {
      side->mrr.push_back(row == nullptr ? std::numeric_limits<double>::quiet_NaN() : row->sums.mrr());
    }
  }
  for (double& value : share) value /= total;
  std::vector<GroupRanks> sides = {tails};
  if (!report.evaluation.ranks.head.empty()) sides.push_back(heads);
  RETURN_IF_ERROR(pictures->Add("ranks_by_frequency.svg", FrequencyPlot(names, sides, share),
                                "MRR by the number of training triples that the answer is in, and the share of the "
                                "queries with such answers."));
  AddGroups(groups, "frequency", {}, report.evaluation, "", html);
  return absl::OkStatus();
}

absl::Status AddProbabilities(const KgeEvaluation& evaluation, ReportPictures* pictures) {
  const CalibrationMeasures& measures = *evaluation.probabilities;
  pictures->html()->AddSection("Probabilities");
  pictures->html()->AddParagraph(absl::StrFormat(
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
  RETURN_IF_ERROR(pictures->Add("reliability.svg", ReliabilityPlot(data),
                                "Answers that are said to be true with some probability, and the share of them that "
                                "is. The line is where both agree."));
  pictures->html()->AddTable(table);
  return absl::OkStatus();
}

// Returns where the log has the model. Of the values that may have chosen it, shares of hits and MRR rise. Where a loss
// chose it, the MRR is shown all the same.
KeptModel KeptKge(const TrainingLog& log, const KgeModels& models) {
  KeptModel kept = KeptModelOf(log, models.first().metadata, models.paths[0]);
  const bool has_mrr = log.Find("val_mrr") != nullptr;
  if (kept.monitor.empty() && has_mrr) kept.monitor = "val_mrr";
  kept.higher_is_better = kept.monitor == "val_mrr" || absl::StartsWith(kept.monitor, "val_hits@");
  if (has_mrr && (kept.monitor == "val_loss" || kept.monitor == "train_loss")) {
    kept.shown = "val_mrr";
    kept.shown_rises = true;
  }
  return kept;
}

}  // namespace

absl::StatusOr<std::string> WriteKgeReport(const std::string& directory, const ToolRun& run, const KgeReport& report) {
  const KgeModels& models = report.models;
  const KgeEvaluation& evaluation = report.evaluation;
  HtmlReport html(absl::StrCat("Evaluation of ", run.args[0]));
  ReportPictures pictures(directory, &html);
  for (const std::string& note : evaluation.notes) html.AddParagraph(note);
  html.AddSection("Ranks");
  html.AddTable(MetricsHtml(evaluation.rows, evaluation.hits_at));
  if (!evaluation.ranks.candidates.empty()) {
    html.AddTable(MetricsHtml(evaluation.rows, evaluation.hits_at, &RankingRow::among));
  }
  RETURN_IF_ERROR(AddRelations(report, &pictures));
  html.AddSection("By category of relation");
  html.AddParagraph(
      "1-N: a head has 1.5 tails or more on average over the training triples; N-1: a tail has as many heads.");
  AddGroups(GroupsOf(evaluation.rows, "category"), "category", {}, evaluation, "", &html);
  RETURN_IF_ERROR(AddFrequencies(report, &pictures));
  if (evaluation.probabilities.has_value()) RETURN_IF_ERROR(AddProbabilities(evaluation, &pictures));
  if (evaluation.log.has_value()) {
    RETURN_IF_ERROR(AddTraining(*evaluation.log, KeptKge(*evaluation.log, models), &pictures));
  }
  html.AddSection("Model");
  html.AddTable(Facts(models, report.graph, evaluation));
  html.AddSection("Commands");
  for (const TrainedKge& model : models.models) {
    for (const char* key : {"triples_command", "command"}) {
      const auto command = model.metadata.find(key);
      if (command != model.metadata.end() && !command->second.empty()) html.AddCode(command->second);
    }
  }
  html.AddCode(ShellCommand(run.command));
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/report.html"), html.ToString()));
  return pictures.warning();
}

}  // namespace rutile
