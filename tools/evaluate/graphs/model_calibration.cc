#include "tools/evaluate/graphs/model_calibration.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/calibration/scored_examples.h"
#include "lib/file/sha256.h"
#include "lib/kge/new_entities/grown_graph.h"
#include "lib/ranking/entity_set.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"

DEFINE_string(
    calibrate, "",
    "Knowledge graphs: fit probabilities to the validation triples, with their weights, and false answers, by platt (a "
    "logistic "
    "curve for each relation and side) or isotonic (a curve without a form, for many triples), and write the model "
    "with them to --output_model.");
DEFINE_double(base_rate, 0.5,
              "Knowledge graphs: share of true answers that probabilities are given for, above 0 and below 1. If it is "
              "not given, it is that of the model's probabilities.");
DEFINE_int64(false_answers, 100,
             "Knowledge graphs: false answers to draw for each triple and side, to fit or measure probabilities.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

constexpr char kMethod[] = "calibration", kBaseRate[] = "calibration_base_rate", kTriples[] = "calibration_triples",
               kAmong[] = "calibration_among", kAmongTails[] = "calibration_among_tails_sha256",
               kAmongHeads[] = "calibration_among_heads_sha256";

std::string AmongText(const Candidates* candidates) {
  return candidates == nullptr ? "all entities" : candidates->description();
}

// Returns the hash of one side's candidates of all relations; "" for all entities. Only the entities that training saw
// count, the first num_trained: those that are folded in later leave the hash as it is.
std::string SideSha256(const KnowledgeGraph& graph, const Candidates* candidates, bool heads, int64_t num_trained) {
  if (candidates == nullptr || !candidates->has(heads)) return "";
  Sha256 sha256;
  for (int32_t relation = 0; relation < graph.num_relations(); ++relation) {
    const uint64_t* const bits = candidates->Of(relation, heads)->bits();
    std::vector<uint64_t> words(bits, bits + num_trained / 64 + 1);
    words.back() &= (uint64_t{1} << (num_trained % 64)) - 1;
    sha256.Update(absl::string_view(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)));
  }
  return sha256.HexDigest();
}

// Returns the number of entities that have been trained.
int64_t NumTrained(const TrainedKge& model) {
  return std::max<int64_t>(0, model.names.num_entities() - NumNewEntities(model.metadata));
}

absl::StatusOr<std::vector<ScoredExample>> Examples(const KgeScorer& scorer, const KnowledgeGraph& graph,
                                                    GraphSplit split, bool heads, const Candidates* candidates) {
  ExampleOptions options;
  options.split = split;
  options.heads = heads;
  options.num_false = FLAGS_false_answers;
  options.candidates = candidates;
  return ScoreExamples(scorer, graph, options);
}

std::string Row(absl::string_view split, absl::string_view method, const CalibrationMeasures& measures) {
  return absl::StrFormat("%s\t%s\t%d\t%d\t%.6f\t%.6f\n", split, method, measures.num_true, measures.num_false,
                         measures.brier, measures.log_loss);
}

}  // namespace

bool Calibrates() { return !FLAGS_calibrate.empty(); }

absl::Status CheckCalibrationFlags() {
  if (!(FLAGS_base_rate > 0 && FLAGS_base_rate < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--base_rate=", FLAGS_base_rate, ": expected a number above 0 and below 1"));
  }
  if (FLAGS_false_answers < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--false_answers=", FLAGS_false_answers, ": expected 1 or more"));
  }
  if (!Calibrates()) return absl::OkStatus();
  return kCalibrationMethodNames.Parse(FLAGS_calibrate).status();
}

absl::StatusOr<std::optional<ModelCalibration>> CalibrationOf(const TrainedKge& model, const std::string& path) {
  const auto method = model.metadata.find(kMethod);
  const auto wrong = [&](const absl::Status& status) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": its probabilities are damaged: ", status.message()));
  };
  if (method == model.metadata.end()) {
    if (model.calibration.size() == 0) return std::nullopt;
    return wrong(absl::InvalidArgumentError(absl::StrCat("metadata \"", kMethod, "\" is missing")));
  }
  const auto value = [&](const char* key) {
    const auto found = model.metadata.find(key);
    return found == model.metadata.end() ? std::string() : found->second;
  };
  const absl::StatusOr<CalibrationMethod> parsed = kCalibrationMethodNames.Parse(method->second);
  if (!parsed.ok()) return wrong(parsed.status());
  double base_rate = 0;
  if (!absl::SimpleAtod(value(kBaseRate), &base_rate)) {
    return wrong(absl::InvalidArgumentError(absl::StrCat("metadata \"", kBaseRate, "\" is no number")));
  }
  // Heads are asked for whether or not the model has inverse relations.
  absl::StatusOr<Calibration> calibration =
      Calibration::FromTensors(model.calibration, *parsed, base_rate, 2 * model.names.num_relations());
  if (!calibration.ok()) return wrong(calibration.status());
  ModelCalibration result;
  result.calibration = *std::move(calibration);
  result.base_rate = FlagGiven("base_rate") ? FLAGS_base_rate : base_rate;
  result.among = value(kAmong);
  result.among_tails = value(kAmongTails);
  result.among_heads = value(kAmongHeads);
  result.triples = value(kTriples);
  result.num_trained = NumTrained(model);
  return result;
}

void WarnOfOtherCandidates(const ModelCalibration& calibration, const KnowledgeGraph& graph,
                           const Candidates* candidates, const CandidateSides& sides) {
  const bool tails =
      sides.tail && SideSha256(graph, candidates, false, calibration.num_trained) != calibration.among_tails;
  const bool heads =
      sides.head && SideSha256(graph, candidates, true, calibration.num_trained) != calibration.among_heads;
  if (!tails && !heads) return;
  PrintWarning(absl::StrCat("probabilities were fitted to false answers among ", calibration.among,
                            ", and these answers are among ", AmongText(candidates),
                            ": they are too high or too low; --calibrate with the same candidates fits them"));
}

absl::StatusOr<CalibrationMeasures> MeasureModel(const ModelCalibration& calibration, const KgeScorer& scorer,
                                                 const KnowledgeGraph& graph, GraphSplit split, bool heads,
                                                 const Candidates* candidates) {
  ASSIGN_OR_RETURN(const std::vector<ScoredExample> examples, Examples(scorer, graph, split, heads, candidates));
  return MeasureCalibration(&calibration.calibration, examples, calibration.base_rate);
}

absl::Status CalibrateModel(const ToolRun& run, const TrainedKge& model, const KgeScorer& scorer,
                            const KnowledgeGraph& graph, const Candidates* candidates, const std::string& output) {
  if (output.empty()) {
    return absl::InvalidArgumentError("--calibrate needs --output_model, the file for the model with probabilities");
  }
  if (graph.valid.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(run.args[1],
                     ": has no validation triples, to which --calibrate fits probabilities: those of training are too "
                     "easy, and those of testing are to judge"));
  }
  for (const std::string& warning : SplitWarnings(model.metadata, graph, "valid")) {
    PrintWarning(absl::StrCat(run.args[1], ": ", warning));
  }
  if (!graph.valid_weights.empty() || !graph.test_weights.empty()) {
    PrintMessage(
        absl::StrCat(run.args[1],
                     ": answers weigh what their triples do, in the fit and in its measures; triples of weight "
                     "0 are left out"));
  }
  ASSIGN_OR_RETURN(const CalibrationMethod method, kCalibrationMethodNames.Parse(FLAGS_calibrate));
  ASSIGN_OR_RETURN(const std::vector<ScoredExample> valid,
                   Examples(scorer, graph, GraphSplit::kValid, true, candidates));
  ASSIGN_OR_RETURN(const std::vector<ScoredExample> test, Examples(scorer, graph, GraphSplit::kTest, true, candidates));
  TrainedKge calibrated = model;
  calibrated.calibration = NamedTensors();
  std::string table = "split\tprobabilities\ttrue\tfalse\tbrier\tlog_loss\n";
  const auto add = [&](absl::string_view name, const Calibration* calibration) {
    for (const auto& [split, examples] : {std::pair("valid", &valid), std::pair("test", &test)}) {
      if (examples->empty()) continue;
      absl::StrAppend(&table, Row(split, name, MeasureCalibration(calibration, *examples, FLAGS_base_rate)));
    }
  };
  add("base_rate", nullptr);
  int64_t own = 0;
  for (const CalibrationMethod each : {CalibrationMethod::kPlatt, CalibrationMethod::kIsotonic}) {
    CalibrationOptions options;
    options.method = each;
    options.base_rate = FLAGS_base_rate;
    ASSIGN_OR_RETURN(const Calibration calibration, Calibration::Fit(valid, 2 * graph.num_relations(), options));
    add(kCalibrationMethodNames.Name(each), &calibration);
    if (each != method) continue;
    calibration.AddTensors(&calibrated.calibration);
    own = calibration.num_own();
  }
  // The model's own provenance stays, as its parameters do.
  calibrated.metadata[kMethod] = std::string(kCalibrationMethodNames.Name(method));
  calibrated.metadata[kBaseRate] = absl::StrFormat("%.17g", FLAGS_base_rate);
  calibrated.metadata[kTriples] = DescribeSplits(graph).at("valid_sha256");
  calibrated.metadata[kAmong] = AmongText(candidates);
  for (const bool heads : {false, true}) {
    const char* const key = heads ? kAmongHeads : kAmongTails;
    calibrated.metadata[key] = SideSha256(graph, candidates, heads, NumTrained(model));
    if (calibrated.metadata[key].empty()) calibrated.metadata.erase(key);
  }
  RETURN_IF_ERROR(WriteKgeModel(output, calibrated));
  std::cout << table;
  PrintMessage(absl::StrFormat(
      "wrote %s: probabilities by %s at a base rate of %g among %s; %d of %d relations and sides have a curve of their "
      "own, the others one together%s. The rows of valid are of the triples that were fitted",
      output, kCalibrationMethodNames.Name(method), FLAGS_base_rate, AmongText(candidates), own,
      2 * graph.num_relations(),
      graph.valid_weights.empty() ? "" : " (triples with weights count by their effective number)"));
  return absl::OkStatus();
}

}  // namespace rutile
