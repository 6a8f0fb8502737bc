#include "tools/featurize/featurize_triples.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/base/file.h"
#include "lib/base/input_files.h"
#include "lib/base/interrupt.h"
#include "lib/base/progress.h"
#include "lib/base/status_macros.h"
#include "lib/graph/build_graph.h"
#include "lib/graph/kg_format.h"
#include "lib/graph/triples_file.h"
#include "tools/common/flags/structure_only.h"
#include "tools/common/flags/structure_stream_flags.h"
#include "tools/common/run/given_flags.h"
#include "tools/featurize/triples_inputs.h"

DEFINE_string(train, "", "Knowledge graph: training triples, a file or several with commas between.");
DEFINE_string(valid, "", "Knowledge graph: validation triples, likewise.");
DEFINE_string(test, "", "Knowledge graph: test triples, likewise.");
DEFINE_string(entity_to_id, "", "Knowledge graph: file that gives entities their ids. Empty: in order of appearance.");
DEFINE_string(relation_to_id, "",
              "Knowledge graph: file that gives relations their ids. Empty: in order of appearance.");
DEFINE_string(vocabulary_order, "appearance",
              "Knowledge graph: order of ids that no file gives: appearance (in train, valid, test; in a line head "
              "before tail) or name (of the bytes).");
DEFINE_string(node_name_dict, "", "Knowledge graph: names for people, by the ids of --entity_to_id.");
DEFINE_string(nodes, "", "Knowledge graph: KGX nodes.jsonl, for their names.");
DEFINE_string(edge_map, "", "Knowledge graph: names of KGX relations, edge_map.json. Empty: predicate:0 and so on.");
DEFINE_string(edge_map_output, "", "Knowledge graph: where to write the edge map of KGX edges.");
DEFINE_bool(inverse_relations, true,
            "Knowledge graph: models learn an inverse of each relation, too, and predict heads by it.");
DEFINE_string(malformed, "refuse", "Knowledge graph: refuse or skip lines that are no triple.");
DEFINE_string(unknown_names, "refuse",
              "Knowledge graph: refuse or skip triples with a name that the files of ids lack.");
DEFINE_string(duplicates, "drop", "Knowledge graph: drop or refuse triples that come again in a split.");
DEFINE_string(leaked, "drop",
              "Knowledge graph: drop, keep or refuse triples of valid or test that an earlier split has.");
DEFINE_string(unseen, "keep",
              "Knowledge graph: keep, drop or refuse triples of valid or test with an entity or relation that no "
              "training triple has.");

namespace rutile {
namespace {

constexpr int kFilesLookedAt = 8;
constexpr const char* kSplitNames[] = {"train", "valid", "test"};

absl::StatusOr<Handling> ParseHandling(absl::string_view flag, const std::string& value,
                                       std::initializer_list<std::pair<const char*, Handling>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, handling] : choices) {
    if (value == name) return handling;
    names.push_back(name);
  }
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": expected ", absl::StrJoin(names, " or ")));
}

absl::StatusOr<BuildGraphOptions> OptionsFromFlags(const ToolRun& run) {
  BuildGraphOptions options;
  constexpr Handling kRefuse = Handling::kRefuse, kDrop = Handling::kDrop, kKeep = Handling::kKeep;
  ASSIGN_OR_RETURN(options.malformed,
                   ParseHandling("malformed", FLAGS_malformed, {{"refuse", kRefuse}, {"skip", kDrop}}));
  ASSIGN_OR_RETURN(options.unknown_names,
                   ParseHandling("unknown_names", FLAGS_unknown_names, {{"refuse", kRefuse}, {"skip", kDrop}}));
  ASSIGN_OR_RETURN(options.duplicates,
                   ParseHandling("duplicates", FLAGS_duplicates, {{"drop", kDrop}, {"refuse", kRefuse}}));
  ASSIGN_OR_RETURN(options.leaked,
                   ParseHandling("leaked", FLAGS_leaked, {{"drop", kDrop}, {"keep", kKeep}, {"refuse", kRefuse}}));
  ASSIGN_OR_RETURN(options.unseen,
                   ParseHandling("unseen", FLAGS_unseen, {{"keep", kKeep}, {"drop", kDrop}, {"refuse", kRefuse}}));
  if (FLAGS_vocabulary_order != "appearance" && FLAGS_vocabulary_order != "name") {
    return absl::InvalidArgumentError(
        absl::StrCat("--vocabulary_order=", FLAGS_vocabulary_order, ": expected appearance or name"));
  }
  options.sort_names = FLAGS_vocabulary_order == "name";
  options.inverse_relations = FLAGS_inverse_relations;
  options.entity_to_id = FLAGS_entity_to_id;
  options.relation_to_id = FLAGS_relation_to_id;
  options.node_name_dict = FLAGS_node_name_dict;
  options.nodes = FLAGS_nodes;
  options.edge_map = FLAGS_edge_map;
  const std::pair<const std::string*, std::vector<std::string>*> splits[] = {
      {&FLAGS_train, &options.train}, {&FLAGS_valid, &options.valid}, {&FLAGS_test, &options.test}};
  for (const auto& [flag, paths] : splits) {
    if (!flag->empty()) *paths = absl::StrSplit(*flag, ',');
  }
  const bool has_splits = !options.train.empty() || !options.valid.empty() || !options.test.empty();
  if (has_splits && !run.args.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(run.args[0], ": give splits as --train, --valid and --test, or as inputs, expected not both"));
  }
  if (has_splits && options.train.empty()) {
    return absl::InvalidArgumentError("needs --train beside --valid and --test");
  }
  if (!has_splits) {
    ASSIGN_OR_RETURN(const std::vector<std::string> inputs, ExpandInputs(run.args));
    RETURN_IF_ERROR(AssignTriplesInputs(inputs, &options));
    PrintMessage(DescribeInputs(options));
  }
  return options;
}

void PrintFinding(absl::string_view split, const Finding& finding, absl::string_view what, absl::string_view fate) {
  if (finding.count == 0) return;
  PrintWarning(absl::StrCat(split, ": ", finding.count, " ", what, ", ", fate, "; the first is ", finding.first));
}

void PrintReport(const BuildGraphOptions& options, const BuildGraphReport& report) {
  for (const std::string& format : report.formats) PrintMessage(format);
  for (int i = 0; i < 3; ++i) {
    const SplitReport& split = report.splits[i];
    PrintFinding(kSplitNames[i], split.malformed, "lines that are no triple", "left out");
    PrintFinding(kSplitNames[i], split.unknown, "triples with a name that has no id", "left out");
    PrintFinding(kSplitNames[i], split.duplicates, "repeated triples", "left out");
    PrintFinding(kSplitNames[i], split.leaked, "triples of an earlier split",
                 options.leaked == Handling::kKeep ? "kept" : "left out (--leaked=keep keeps them)");
    PrintFinding(kSplitNames[i], split.unseen, "triples with an entity or relation that no training triple has",
                 options.unseen == Handling::kKeep ? "kept (--unseen=drop leaves them out)" : "left out");
  }
  const absl::string_view left_out = options.unseen == Handling::kDrop ? " of triples that are left out" : "";
  if (report.unseen_relations > 0) {
    const bool all = report.unseen_relations == static_cast<int64_t>(report.unseen_relation_names.size());
    PrintWarning(absl::StrCat(report.unseen_relations, " relations", left_out, " are in no training triple: ",
                              absl::StrJoin(report.unseen_relation_names, ", "), all ? "" : ", ..."));
  }
  if (report.unseen_entities > 0) {
    PrintWarning(absl::StrCat(report.unseen_entities, " entities", left_out.empty() ? " of valid and test" : left_out,
                              " are in no training triple"));
  }
  if (report.unused_entities + report.unused_relations > 0) {
    PrintWarning(absl::StrCat(report.unused_entities, " entities and ", report.unused_relations,
                              " relations have an id, but no triple"));
  }
  PrintFinding("nodes", report.malformed_nodes, "lines that are no node", "left out");
  if (report.unlabeled > 0) {
    PrintWarning(absl::StrCat(report.unlabeled, " entities have no name for people; their own stands for it"));
  }
}

int64_t LeftOut(const BuildGraphOptions& options, const SplitReport& split) {
  return split.malformed.count + split.unknown.count + split.duplicates.count +
         (options.leaked == Handling::kDrop ? split.leaked.count : 0) +
         (options.unseen == Handling::kDrop ? split.unseen.count : 0);
}

}  // namespace

bool IsKnowledgeGraph(const ToolRun& run) {
  if (FlagGiven("train") || FlagGiven("valid") || FlagGiven("test")) return true;
  const absl::StatusOr<std::vector<std::string>> inputs = ExpandInputs(run.args);
  if (!inputs.ok()) return false;
  const int n = std::min<int>(kFilesLookedAt, static_cast<int>(inputs->size()));
  return std::any_of(inputs->begin(), inputs->begin() + n, [](const std::string& path) {
    const absl::StatusOr<KgFormat> format = DetectKgFormatOfFile(path);
    return format.ok() && *format != KgFormat::kOther;
  });
}

absl::Status RefuseTriplesFlags() {
  return RefuseFlags("with structures", {"train", "valid", "test", "entity_to_id", "relation_to_id", "vocabulary_order",
                                         "node_name_dict", "nodes", "edge_map", "edge_map_output", "inverse_relations",
                                         "malformed", "unknown_names", "duplicates", "leaked", "unseen"});
}

absl::Status FeaturizeTriples(const ToolRun& run) {
  RETURN_IF_ERROR(RefuseStructureFlags());
  RETURN_IF_ERROR(RefuseFlags("with a knowledge graph", {"angular", "precision"}));
  ASSIGN_OR_RETURN(const std::string output, OutputFromFlags({}));
  ASSIGN_OR_RETURN(BuildGraphOptions options, OptionsFromFlags(run));
  ProgressBar progress("featurize", /*total=*/-1, ProgressFromFlags());
  options.on_progress = [&](int64_t lines) { progress.Add(lines); };
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const BuiltGraph built, BuildGraph(options));
  if (!FLAGS_edge_map_output.empty() && (built.edge_map.size() == 0 || !built.edge_map.grows())) {
    return absl::InvalidArgumentError(absl::StrCat("--edge_map_output=", FLAGS_edge_map_output,
                                                   built.edge_map.grows()
                                                       ? ": there are no KGX edges that would give a map"
                                                       : ": the map is given, by --edge_map"));
  }
  ASSIGN_OR_RETURN(const Metadata metadata, OutputMetadata(run, TriplesSchema().kind, AllInputs(options)));
  RETURN_IF_ERROR(CheckInterrupt());
  RETURN_IF_ERROR(WriteTriples(output, built.graph, metadata));
  if (!FLAGS_edge_map_output.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(FLAGS_edge_map_output, built.edge_map.ToJson()));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.Finish();

  const BuildGraphReport& report = built.report;
  PrintReport(options, report);
  int64_t left_out = 0;
  for (const SplitReport& split : report.splits) left_out += LeftOut(options, split);
  PrintMessage(absl::StrFormat(
      "%d entities, %d relations%s; triples: train %d, valid %d, test %d; %d lines left out; %.2f s -> %s",
      built.graph.num_entities(), built.graph.num_relations(),
      options.inverse_relations ? " and their inverses" : ", no inverses", report.splits[0].triples,
      report.splits[1].triples, report.splits[2].triples, left_out, seconds, output));
  return absl::OkStatus();
}

}  // namespace rutile
