#include "tools/evaluate/graphs/evaluate_kge.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/enum_names.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/calibration/calibration.h"
#include "lib/file/file.h"
#include "lib/file/input_files.h"
#include "lib/graph/known_file.h"
#include "lib/graph/known_tails.h"
#include "lib/graph/link_queries.h"
#include "lib/graph/triple.h"
#include "lib/graph/triple_sample.h"
#include "lib/graph/triples_file.h"
#include "lib/kge/model/embedding_export.h"
#include "lib/kge/model/kge_file.h"
#include "lib/kge/model/kge_import.h"
#include "lib/kge/model/kge_options.h"
#include "lib/ranking/candidates.h"
#include "lib/ranking/entity_set.h"
#include "lib/ranking/gpu/counting_device.h"
#include "lib/ranking/link_prediction.h"
#include "lib/ranking/rank_options.h"
#include "lib/ranking/rank_triples.h"
#include "lib/ranking/ranking_metrics.h"
#include "lib/ranking/ranks_file.h"
#include "lib/tensorfile/file_kind.h"
#include "lib/tensorfile/tensor_reader.h"
#include "tools/common/flags/text_triples.h"
#include "tools/common/flags/thread_flags.h"
#include "tools/common/run/flag_choice.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/evaluate/common_flags.h"
#include "tools/evaluate/device_flag.h"
#include "tools/evaluate/graphs/candidate_flags.h"
#include "tools/evaluate/graphs/kge_models.h"
#include "tools/evaluate/graphs/kge_outputs.h"
#include "tools/evaluate/graphs/model_calibration.h"
#include "tools/evaluate/graphs/new_entities.h"
#include "tools/evaluate/graphs/rank_sample.h"
#include "tools/evaluate/models.h"
#include "tools/evaluate/shards.h"
#include "tools/evaluate/train_log.h"

DEFINE_string(split, "test", "Knowledge graphs: triples to rank: test, valid or train.");
DEFINE_string(filter, "all",
              "Knowledge graphs: known triples that a target is not compared with: all, train+valid or train.");
DEFINE_string(direction, "auto",
              "Knowledge graphs: auto ranks tails and, where the model has inverse relations, heads; tail ranks tails "
              "alone; both also ranks heads of a model without inverses, by scoring all heads: slow.");
DEFINE_string(ranking_convention, "standard",
              "Knowledge graphs: standard; or, to compare with numbers made so, one that is known to be wrong: tiepin "
              "or original. The output says so.");
DEFINE_string(hits_at, "1,3,5,10", "Knowledge graphs: the k of Hits@k.");
DEFINE_bool(per_relation, false,
            "Knowledge graphs: print metrics of each category of relations and each relation, too.");
DEFINE_double(min_mrr, 0, "Knowledge graphs: exit with status 2 if the MRR over all ranks is below this.");
DEFINE_string(queries, "",
              "Knowledge graphs: TSV file of questions, \"head relation ?\" or \"? relation tail\": prints the best "
              "answers in place of metrics. - is standard input.");
DEFINE_int64(top_k, 10, "Knowledge graphs: answers for each of --queries.");
DEFINE_bool(
    probabilities, false,
    "Knowledge graphs: a column of probabilities in the answers: those that --calibrate gave the model; without "
    "them of a softmax over all entities for models trained with one, else the sigmoid of the score.");
DEFINE_string(known, "keep",
              "Knowledge graphs: keep or drop answers that are triples of any split or known to be false.");
DEFINE_int64(
    embedding_height, 0,
    "Knowledge graphs: of the image, for a model of TiePin or PyKEEN whose shapes leave it open. 0: they tell.");
DEFINE_string(output_model, "",
              "Knowledge graphs: write the model, of TiePin or PyKEEN, as a file of ours (kind kge/1), or the one with "
              "the probabilities of --calibrate or the entities of --new_triples.");
DEFINE_string(export_embeddings, "",
              "Knowledge graphs: write the model's embeddings with their names to this file, .tsv or .safetensors.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

absl::StatusOr<std::vector<int64_t>> HitsFromFlag() {
  std::vector<int64_t> hits_at;
  for (const absl::string_view text : absl::StrSplit(FLAGS_hits_at, ',')) {
    int64_t k = 0;
    if (!absl::SimpleAtoi(text, &k) || k < 1 || (!hits_at.empty() && k <= hits_at.back())) {
      return absl::InvalidArgumentError(
          absl::StrCat("--hits_at=", FLAGS_hits_at, ": expected ascending numbers from 1 on, 1,3,10"));
    }
    hits_at.push_back(k);
  }
  return hits_at;
}

enum class KnownAnswers { kKeep, kDrop };
constexpr absl::string_view kKnownWords[] = {"keep", "drop"};
constexpr EnumNames<KnownAnswers> kKnownNames("answers that are known cannot be", kKnownWords);

absl::StatusOr<KnownAnswers> KnownFromFlag() { return ParseFlagChoice("known", FLAGS_known, kKnownNames); }

absl::Status CheckFlags(const EvaluateShard& shard) {
  RETURN_IF_ERROR(KnownFromFlag().status());
  if (FLAGS_top_k < 1) return absl::InvalidArgumentError(absl::StrCat("--top_k=", FLAGS_top_k, ": expected 1 or more"));
  if (!(FLAGS_min_mrr >= 0 && FLAGS_min_mrr <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("--min_mrr=", FLAGS_min_mrr, ": expected a number from 0 to 1"));
  }
  RETURN_IF_ERROR(CheckRankSample(shard));
  RETURN_IF_ERROR(CheckCalibrationFlags());
  RETURN_IF_ERROR(CheckNewEntityFlags(FLAGS_output_model));
  RETURN_IF_ERROR(RefuseFlagsFor(FlagDomain::kPotentials, "with a knowledge-graph model"));
  if (Calibrates()) {
    return RefuseFlags("with --calibrate, which fits to the validation triples",
                       {"split", "filter", "direction", "ranking_convention", "device", "hits_at", "rank_sample",
                        "per_relation", "min_mrr", "queries", "top_k", "probabilities", "known", "list_types", "shard",
                        "output_dir", "train_log", "export_embeddings"});
  }
  if (shard.is_part()) {
    RETURN_IF_ERROR(RefuseFlags("with --shard, which judges nothing",
                                {"hits_at", "per_relation", "min_mrr", "base_rate", "false_answers", "train_log"}));
  }
  if (ListsTypes()) {
    return RefuseFlags(
        "with --list_types",
        {"candidates", "head_candidates", "tail_candidates", "queries",  "top_k",      "probabilities",
         "known",      "shard",           "split",           "filter",   "direction",  "ranking_convention",
         "device",     "hits_at",         "per_relation",    "min_mrr",  "output_dir", "threads",
         "base_rate",  "false_answers",   "rank_sample",     "train_log"});
  }
  if (FLAGS_queries.empty()) {
    RETURN_IF_ERROR(RefuseFlags("without --queries", {"top_k", "probabilities", "known"}));
    return CheckTrainLog();
  }
  if (!FLAGS_probabilities) RETURN_IF_ERROR(RefuseFlags("without --probabilities", {"base_rate"}));
  return RefuseFlags("with --queries",
                     {"shard", "split", "filter", "direction", "ranking_convention", "device", "hits_at", "rank_sample",
                      "per_relation", "min_mrr", "output_dir", "false_answers", "train_log"});
}

// Returns the candidates of all relations and both sides.
absl::StatusOr<std::optional<Candidates>> CandidatesOfAll(const KnowledgeGraph& graph, const TrainedKge& model) {
  std::vector<int32_t> relations(graph.num_relations());
  std::iota(relations.begin(), relations.end(), 0);
  return CandidatesFromFlags(graph, ChooseTypes(graph, model.names), relations, {true, true});
}

// Warns where probabilities were fitted among other candidates. Triples of entities that were folded in later do not
// count, as they may make a known entity a candidate where training has not seen it.
absl::Status WarnIfOtherCandidates(const ModelCalibration& calibration, const TrainedKge& model,
                                   const KnowledgeGraph& graph, const Candidates* candidates,
                                   const CandidateSides& sides) {
  if (candidates == nullptr || calibration.num_trained >= graph.num_entities()) {
    WarnOfOtherCandidates(calibration, graph, candidates, sides);
    return absl::OkStatus();
  }
  KnowledgeGraph trained = graph;
  trained.train.clear();
  trained.train_weights.clear();
  for (size_t i = 0; i < graph.train.size(); ++i) {
    const Triple& triple = graph.train[i];
    if (triple.head >= calibration.num_trained || triple.tail >= calibration.num_trained) continue;
    trained.train.push_back(triple);
    if (!graph.train_weights.empty()) trained.train_weights.push_back(graph.train_weights[i]);
  }
  ASSIGN_OR_RETURN(const std::optional<Candidates> of_trained, CandidatesOfAll(trained, model));
  WarnOfOtherCandidates(calibration, trained, of_trained.has_value() ? &*of_trained : nullptr, sides);
  return absl::OkStatus();
}

absl::StatusOr<RankTriplesOptions> RankOptionsFromFlags() {
  RankTriplesOptions options;
  ASSIGN_OR_RETURN(options.split, ParseGraphSplit(FLAGS_split));
  ASSIGN_OR_RETURN(options.filter, ParseRankingFilter(FLAGS_filter));
  ASSIGN_OR_RETURN(options.direction, ParseRankingDirection(FLAGS_direction));
  ASSIGN_OR_RETURN(options.convention, ParseRankingConvention(FLAGS_ranking_convention));
  // The convention has its own filter. It is the default here; another one given by flag is refused later.
  if (options.convention == RankingConvention::kTiepin && !FlagGiven("filter")) {
    options.filter = RankingFilter::kTrainValid;
  }
  options.num_threads = ThreadsFromFlags();
  return options;
}

void SetProbabilities(const ModelCalibration& calibration, const KnowledgeGraph& graph,
                      absl::Span<const LinkQuery> queries, std::vector<std::vector<LinkAnswer>>* answers) {
  for (size_t q = 0; q < queries.size(); ++q) {
    const auto heads = static_cast<int32_t>(queries[q].for_head ? graph.num_relations() : 0);
    for (LinkAnswer& answer : (*answers)[q]) {
      answer.probability =
          calibration.calibration.Probability(queries[q].relation + heads, answer.score, calibration.base_rate);
    }
  }
  PrintMessage(absl::StrFormat("probabilities: by %s, at a base rate of %g",
                               kCalibrationMethodNames.Name(calibration.calibration.method()), calibration.base_rate));
}

absl::Status Predict(const KgeModels& models, const std::optional<ModelCalibration>& calibration,
                     const KgeScorer& scorer, const KnowledgeGraph& graph) {
  const TrainedKge& model = models.first();
  if (FLAGS_probabilities && !calibration.has_value()) {
    RETURN_IF_ERROR(CheckLossIsKnown(model.metadata, models.paths[0], "--probabilities"));
  }
  ASSIGN_OR_RETURN(const std::vector<LinkQuery> queries, ReadLinkQueries(FLAGS_queries, graph));
  LinkPredictionOptions options;
  options.top_k = FLAGS_top_k;
  ASSIGN_OR_RETURN(const KnownAnswers known, KnownFromFlag());
  options.keep_known = known == KnownAnswers::kKeep;
  const KgeLoss loss = model.shape.options.loss;
  options.softmax = loss == KgeLoss::kOneVsAll || loss == KgeLoss::kKvsAll;
  options.num_threads = ThreadsFromFlags();
  std::vector<int32_t> relations;
  CandidateSides sides = {false, false};
  for (const LinkQuery& query : queries) {
    relations.push_back(query.relation);
    (query.for_head ? sides.head : sides.tail) = true;
  }
  ASSIGN_OR_RETURN(const std::optional<Candidates> candidates,
                   CandidatesFromFlags(graph, ChooseTypes(graph, model.names), relations, sides));
  if (candidates.has_value()) {
    options.candidates = &*candidates;
    PrintMessage(absl::StrCat("answers: ", candidates->description()));
  }
  for (size_t q = 0; candidates.has_value() && q < queries.size(); ++q) {
    const EntitySet* const among = candidates->Of(queries[q].relation, queries[q].for_head);
    if (among == nullptr || among->size() > 0) continue;
    PrintWarning(absl::StrCat("question ", q + 1, " has no candidate, and so no answer: training has none for the ",
                              queries[q].for_head ? "heads" : "tails", " of this relation"));
  }
  ASSIGN_OR_RETURN(std::vector<std::vector<LinkAnswer>> answers, PredictLinks(scorer, graph, queries, options));
  if (FLAGS_probabilities && calibration.has_value()) {
    SetProbabilities(*calibration, graph, queries, &answers);
    ASSIGN_OR_RETURN(const std::optional<Candidates> all, CandidatesOfAll(graph, model));
    RETURN_IF_ERROR(WarnIfOtherCandidates(*calibration, model, graph, all.has_value() ? &*all : nullptr, sides));
  }
  std::cout << LinkPredictionsToTsv(graph, queries, answers, FLAGS_probabilities);
  return absl::OkStatus();
}

// Measures the probabilities of a model that has them on the triples and sides that are ranked.
absl::Status Measure(const ModelCalibration& calibration, const TrainedKge& model, const KgeScorer& scorer,
                     const KnowledgeGraph& graph, bool heads, KgeEvaluation* evaluation) {
  ASSIGN_OR_RETURN(const std::optional<Candidates> all, CandidatesOfAll(graph, model));
  const Candidates* const candidates = all.has_value() ? &*all : nullptr;
  RETURN_IF_ERROR(WarnIfOtherCandidates(calibration, model, graph, candidates, {heads, true}));
  const GraphSplit split = evaluation->options.split;
  ASSIGN_OR_RETURN(const CalibrationMeasures measures,
                   MeasureModel(calibration, scorer, graph, split, heads, candidates));
  if (measures.num_true == 0) {
    PrintWarning(
        "the probabilities are not measured: no relation has both true and false answers among the candidates");
    return absl::OkStatus();
  }
  if (DescribeSplits(graph).at(absl::StrCat(GraphSplitName(split), "_sha256")) == calibration.triples) {
    PrintWarning("the probabilities are measured on the triples that they were fitted to, where they look too good");
  }
  evaluation->probabilities = measures;
  evaluation->about_probabilities = absl::StrFormat(
      "%s, at a base rate of %g among %s", kCalibrationMethodNames.Name(calibration.calibration.method()),
      calibration.base_rate, candidates == nullptr ? "all entities" : candidates->description());
  return absl::OkStatus();
}

// Ranks the triples, or those of a shard.
absl::Status Rank(const KgeModels& models, const std::optional<ModelCalibration>& calibration,
                  const KnowledgeGraph& graph, const KnownTails* known, const EvaluateShard& shard,
                  KgeEvaluation* evaluation) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CountingDevice> device, DeviceFromFlag());
  ASSIGN_OR_RETURN(evaluation->options, RankOptionsFromFlags());
  const absl::Span<const Triple> triples = SplitTriples(graph, evaluation->options.split);
  evaluation->options.triples = RankSampleFromFlag(static_cast<int64_t>(triples.size()));
  const bool samples = evaluation->options.triples.has_value();
  if (shard.is_part()) {
    evaluation->options.triples = RankShard(triples, shard.shard, shard.num_shards);
    if (evaluation->options.triples->empty() && !triples.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("shard ", shard.shard, "/", shard.num_shards, " of ",
                                                     triples.size(), " triples has none: make at most ",
                                                     triples.size()));
    }
  }
  const TrainedKge& model = models.first();
  ASSIGN_OR_RETURN(const KgeScorer scorer, models.Scorer(ThreadsFromFlags()));
  std::vector<int32_t> relations;
  for (const Triple& triple : triples) relations.push_back(triple.relation);
  const bool heads = RanksHeads(evaluation->options, scorer.num_relations == 2 * graph.num_relations());
  ASSIGN_OR_RETURN(const std::optional<Candidates> candidates,
                   CandidatesFromFlags(graph, ChooseTypes(graph, model.names), relations, {heads, true}));
  ProgressBar progress("evaluate", -1, FLAGS_progress);
  RankTriplesOptions options = evaluation->options;
  options.device = device.get();
  if (candidates.has_value()) options.candidates = &*candidates;
  options.on_progress = [&](int64_t triples) { progress.Add(triples); };
  ASSIGN_OR_RETURN(evaluation->ranks, RankTriples(scorer, graph, known, options));
  progress.Finish();
  if (!calibration.has_value() || shard.is_part() || models.is_ensemble()) return absl::OkStatus();
  if (samples) {
    PrintMessage("probabilities are measured where all triples are ranked, and so not here");
    return absl::OkStatus();
  }
  return Measure(*calibration, model, scorer, graph, heads, evaluation);
}

// Prints and writes the metrics, and checks limits. inputs: files that the ranks were made from.
absl::Status Judge(const ToolRun& run, const std::vector<std::string>& inputs, const KgeModels& models,
                   const KnowledgeGraph& graph, KgeEvaluation evaluation) {
  const RankTriplesOptions& options = evaluation.options;
  const RankingGroups groups = {RelationCategories(graph.train, graph.num_relations()), graph.relations};
  evaluation.rows = ComputeRankingRows(RankedTriples(graph, options), evaluation.ranks, evaluation.hits_at, groups);
  evaluation.sample_note = SampleNote(static_cast<int64_t>(SplitTriples(graph, options.split).size()),
                                      static_cast<int64_t>(evaluation.ranks.tail.size()));
  evaluation.notes = EvaluationNotes(evaluation);
  if (!evaluation.ranks.candidates.empty()) {
    PrintMessage(absl::StrCat("also ranked: ", evaluation.ranks.candidates));
  }
  for (const std::string& note : evaluation.notes) PrintWarning(note);
  if (evaluation.probabilities.has_value()) {
    const CalibrationMeasures& measures = *evaluation.probabilities;
    PrintMessage(absl::StrFormat(
        "probabilities by %s: Brier score %.4f, log loss %.4f, of %d true and %d false answers",
        evaluation.about_probabilities, measures.brier, measures.log_loss, measures.num_true, measures.num_false));
  }
  std::vector<RankingRow> printed;
  for (const RankingRow& row : evaluation.rows) {
    if (FLAGS_per_relation || row.grouping == "all") printed.push_back(row);
  }
  std::cout << MetricsTable(evaluation, printed);
  if (!FLAGS_output_dir.empty()) {
    RETURN_IF_ERROR(WriteKgeOutputs(FLAGS_output_dir, run, inputs, models, graph, evaluation));
    PrintMessage(absl::StrCat("wrote ", FLAGS_output_dir, "/report.html, metrics.tsv and ranks.tsv"));
  }
  const double mrr = evaluation.rows[0].sums.mrr();
  // Not >=: NaN is below every limit.
  if (FLAGS_min_mrr > 0 && !(mrr >= FLAGS_min_mrr)) {
    return absl::FailedPreconditionError(absl::StrFormat("MRR of %.6f is below --min_mrr=%g", mrr, FLAGS_min_mrr));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsKgeModel(const std::string& argument) {
  const absl::StatusOr<std::vector<std::string>> paths = ExpandInputs(SplitInputs(argument));
  const std::string& path = paths.ok() ? paths->front() : argument;
  if (!LooksLikeTensorFile(path)) return false;
  const absl::StatusOr<TensorFile> file = LookIntoTensorFile(path);
  if (!file.ok()) return false;
  if (IsForeignKge(*file)) return true;
  const absl::StatusOr<FileKind> kind = GetFileKind(*file);
  return kind.ok() && kind->name == "kge";
}

absl::Status EvaluateKge(const ToolRun& run) {
  ASSIGN_OR_RETURN(const EvaluateShard shard, ShardFromFlags());
  RETURN_IF_ERROR(CheckFlags(shard));
  const bool exports = !FLAGS_export_embeddings.empty();
  std::vector<std::string> more;  // known tails, or ranks
  if (run.args.size() > 2) {
    ASSIGN_OR_RETURN(more, ExpandInputs(std::vector<std::string>(run.args.begin() + 2, run.args.end())));
  }
  ASSIGN_OR_RETURN(const bool ranked, AreResults(more, "kg.ranks"));
  if ((more.size() > 1 && !ranked) || (run.args.size() < 2 && !exports)) {
    return absl::InvalidArgumentError(
        "needs MODEL, a file of kind kg.triples/1 and perhaps its known tails, of kind kg.known/1, or ranks, of kind "
        "kg.ranks/1; see evaluate --help");
  }
  std::optional<KnowledgeGraph> graph;
  const bool writes_theirs = !Calibrates() && !AddsEntities();
  ASSIGN_OR_RETURN(KgeModels models,
                   ReadKgeModels(run, FLAGS_embedding_height, writes_theirs ? FLAGS_output_model : "", &graph));
  const TrainedKge& model = models.first();
  if (!graph.has_value() && writes_theirs) {
    RETURN_IF_ERROR(RefuseFlags("with a model of ours and neither --calibrate nor --new_triples", {"output_model"}));
  }
  if (graph.has_value() && AddsEntities()) {
    return absl::InvalidArgumentError(
        absl::StrCat(models.paths[0],
                     ": is of another project: --output_model without --new_triples writes it as a model of ours, to "
                     "which entities can be added"));
  }
  for (size_t m = 0; m < models.models.size(); ++m) {
    WarnOfUnfinishedRun(models.paths[m], models.models[m].metadata);
    SayIfOfSubset(models.paths[m], models.models[m].metadata);
  }
  if (models.is_ensemble()) {
    RETURN_IF_ERROR(RefuseFlags("with several models, whose scores are standardized and added up",
                                {"export_embeddings", "probabilities", "calibrate", "base_rate", "false_answers",
                                 "output_model", "train_log"}));
  }
  if (exports) {
    if (run.args.size() == 1) {
      RETURN_IF_ERROR(RefuseFlags("with --export_embeddings and no triples, of which it would be",
                                  {"split",       "filter",          "direction",       "ranking_convention",
                                   "device",      "hits_at",         "per_relation",    "min_mrr",
                                   "queries",     "top_k",           "probabilities",   "known",
                                   "candidates",  "head_candidates", "tail_candidates", "list_types",
                                   "shard",       "output_dir",      "threads",         "base_rate",
                                   "rank_sample", "false_answers",   "train_log"}));
    }
    ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, EmbeddingsSchema().kind, {run.args[0]}));
    RETURN_IF_ERROR(ExportEmbeddings(FLAGS_export_embeddings, model, metadata));
    PrintMessage(absl::StrCat("wrote ", FLAGS_export_embeddings));
    if (run.args.size() == 1) return absl::OkStatus();
  }
  if (!graph.has_value()) {
    RETURN_IF_ERROR(RefuseTextTriples(run.args[1]));
    ASSIGN_OR_RETURN(graph, ReadTriples(run.args[1]));
  }
  if (AddsEntities()) {
    if (!more.empty()) return absl::InvalidArgumentError(absl::StrCat(more[0], ": has no effect with --new_triples"));
    RETURN_IF_ERROR(AddNewEntities(run, &models, &*graph));
  }
  if (const absl::Status status = CheckSameVocabulary(model, *graph); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(run.args[1], ": ", status.message()));
  }
  if (WritesNewEntities(FLAGS_output_model)) return WriteNewEntities(run, FLAGS_output_model, models, *graph);
  std::optional<KnownTails> known;
  if (!more.empty() && !ranked) {
    ASSIGN_OR_RETURN(known, ReadKnownTails(more[0], *graph));
  }
  if (ListsTypes()) {
    std::cout << TypesTable(*graph, ChooseTypes(*graph, model.names));
    return absl::OkStatus();
  }
  if (Calibrates()) {
    if (ranked || !more.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(more[0], ": has no effect with --calibrate"));
    }
    ASSIGN_OR_RETURN(const std::optional<Candidates> candidates, CandidatesOfAll(*graph, model));
    ASSIGN_OR_RETURN(const KgeScorer scorer, models.Scorer(ThreadsFromFlags()));
    return CalibrateModel(run, model, scorer, *graph, candidates.has_value() ? &*candidates : nullptr,
                          FLAGS_output_model);
  }
  ASSIGN_OR_RETURN(const std::optional<ModelCalibration> calibration, CalibrationOf(model, models.paths[0]));
  if (calibration.has_value() && !models.is_ensemble() && (ranked || shard.is_part())) {
    PrintMessage("probabilities are measured where all triples are ranked at once, and so not here");
  }
  if (!calibration.has_value()) {
    RETURN_IF_ERROR(
        RefuseFlags("where the model has no probabilities, which --calibrate fits", {"base_rate", "false_answers"}));
  }
  if (!FLAGS_queries.empty()) {
    if (ranked) return absl::InvalidArgumentError(absl::StrCat(more[0], ": ranks have no effect with --queries"));
    ASSIGN_OR_RETURN(const KgeScorer scorer, models.Scorer(ThreadsFromFlags()));
    return Predict(models, calibration, scorer, *graph);
  }
  std::set<std::string> warnings;
  for (const TrainedKge& each : models.models) {
    for (const std::string& warning : SplitWarnings(each.metadata, *graph, FLAGS_split)) {
      if (warnings.insert(warning).second) PrintWarning(absl::StrCat(run.args[1], ": ", warning));
    }
  }
  KgeEvaluation evaluation;
  ASSIGN_OR_RETURN(evaluation.log, TrainLogFromFlag());
  ASSIGN_OR_RETURN(evaluation.hits_at, HitsFromFlag());
  if (!FLAGS_output_dir.empty()) RETURN_IF_ERROR(MakeDirectories(FLAGS_output_dir));
  std::vector<std::string> inputs = {run.args[1]};
  if (AddsEntities()) inputs.push_back(NewTriplesFile());
  if (ranked) {
    RETURN_IF_ERROR(
        RefuseFlags("on ranks, which are made already",
                    {"shard", "split", "filter", "direction", "ranking_convention", "device", "candidates",
                     "head_candidates", "tail_candidates", "threads", "base_rate", "false_answers", "rank_sample"}));
    ASSIGN_OR_RETURN(StoredRanks stored, ReadRanks(more, *graph, models.paths));
    evaluation.options = std::move(stored.options);
    evaluation.ranks = std::move(stored.ranks);
    inputs.insert(inputs.end(), more.begin(), more.end());
  } else {
    RETURN_IF_ERROR(Rank(models, calibration, *graph, known.has_value() ? &*known : nullptr, shard, &evaluation));
    const std::vector<std::string> files = CandidateFiles(ChooseTypes(*graph, model.names));
    inputs.insert(inputs.end(), files.begin(), files.end());
  }
  if (!shard.is_part()) return Judge(run, inputs, models, *graph, std::move(evaluation));
  RETURN_IF_ERROR(WriteRanksOfShard(FLAGS_output_dir, run, inputs, models, shard, *graph, evaluation));
  PrintMessage(
      absl::StrCat("wrote ", shard.Path(FLAGS_output_dir, "ranks"), ": ", evaluation.ranks.tail.size(), " triples"));
  return absl::OkStatus();
}

}  // namespace rutile
