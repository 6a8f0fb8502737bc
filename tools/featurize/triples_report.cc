#include "tools/featurize/triples_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "tools/common/run/run_tool.h"

namespace rutile {
namespace {

constexpr int kShownPairs = 5;
constexpr double kManyReversed = 0.01;

void PrintFinding(absl::string_view split, const Finding& finding, absl::string_view what, absl::string_view fate) {
  if (finding.count == 0) return;
  PrintWarning(absl::StrCat(split, ": ", finding.count, " ", what, ", ", fate, "; the first is ", finding.first));
}

void PrintUnusedQualifiers(const BuildGraphReport& report) {
  for (const auto& [field, finding] : report.unused_qualifiers) {
    PrintWarning(absl::StrCat(finding.count, " edges have \"", field,
                              "\", which tells no relations apart, so statements that differ in it count as one; the "
                              "first is ",
                              finding.first));
  }
}

void PrintReversed(absl::string_view name, const BuildGraphOptions& options, const BuiltGraph& built,
                   const SplitReport& split) {
  if (split.reversed.count == 0) return;
  const bool is_kept = options.reversed == Handling::kKeep;
  const int64_t total = split.triples + (is_kept ? 0 : split.reversed.count);
  const std::string text = absl::StrCat(name, ": ", split.reversed.count, " of ", total, " triples (",
                                        std::lround(100.0 * split.reversed.count / total),
                                        " %) can be read off training, where they are reversed or under another name, ",
                                        is_kept ? "kept (--reversed=drop leaves them out)" : "left out", ": ",
                                        DescribeLeaks(split.reversed, built.graph, kShownPairs));
  // A few are in any graph; many make tests of a rule, not of a model.
  if (split.reversed.count >= kManyReversed * static_cast<double>(total)) {
    PrintWarning(text);
  } else {
    PrintMessage(text);
  }
}

void PrintNegatives(const SplitReport& found) {
  PrintFinding("negatives", found.malformed, "lines that are no triple", "left out");
  PrintFinding("negatives", found.negated, "negated statements", "taken as the triples that they deny");
  PrintFinding("negatives", found.literals, "triples with a literal as tail", "as --literals says");
  PrintFinding("negatives", found.unknown, "triples with a name that has no id", "left out");
  PrintFinding("negatives", found.duplicates, "repeated triples", "left out");
  if (found.triples > 0) PrintMessage(absl::StrCat(found.triples, " triples are known to be false"));
}

void PrintWeights(absl::string_view what, const std::vector<double>& weights) {
  if (weights.empty()) return;
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto num_zero = std::count(weights.begin(), weights.end(), 0.0);
  PrintMessage(absl::StrCat("weights of ", what, ": ", *least, " to ", *most, ", mean ",
                            sum / static_cast<double>(weights.size()),
                            num_zero > 0 ? absl::StrCat("; ", num_zero, " of weight 0 are not learned") : ""));
}

void PrintSplit(const GraphSplitOptions& options, const GraphSplitResult& result) {
  PrintMessage(absl::StrCat("split by relation with --seed=", options.seed, ": ", result.valid, " triples to valid, ",
                            result.test, " to test; every entity and relation is in training"));
  const int64_t missing = result.valid_short + result.test_short;
  if (missing == 0) return;
  PrintWarning(absl::StrCat(missing,
                            " triples fewer than --split asks for: the rest would leave an entity or relation "
                            "without a training triple"));
}

}  // namespace

void PrintTriplesReport(const BuildGraphOptions& options, const BuiltGraph& built) {
  const BuildGraphReport& report = built.report;
  for (const std::string& format : report.formats) PrintMessage(format);
  for (const std::string& doubt : report.doubts) PrintWarning(doubt);
  PrintUnusedQualifiers(report);
  for (int i = 0; i < 3; ++i) {
    const SplitReport& split = report.splits[i];
    PrintFinding(kSplitNames[i], split.malformed, "lines that are no triple", "left out");
    PrintFinding(kSplitNames[i], split.negated, "negated statements, which are no facts",
                 "left out (--negated=relation makes relations of their own of them)");
    PrintFinding(kSplitNames[i], split.literals, "triples with a literal as tail",
                 options.literals == Handling::kKeep
                     ? "kept, each literal as an entity (--literals=drop leaves them out)"
                     : "left out");
    PrintFinding(kSplitNames[i], split.unknown, "triples with a name that has no id", "left out");
    PrintFinding(kSplitNames[i], split.duplicates, "repeated triples", "left out");
    PrintFinding(kSplitNames[i], split.leaked, "triples of an earlier split",
                 options.leaked == Handling::kKeep ? "kept" : "left out (--leaked=keep keeps them)");
    PrintFinding(kSplitNames[i], split.unseen, "triples with an entity or relation that no training triple has",
                 options.unseen == Handling::kKeep ? "kept (--unseen=drop leaves them out)" : "left out");
    PrintReversed(kSplitNames[i], options, built, split);
  }
  PrintNegatives(report.negatives);
  PrintWeights("training triples", built.graph.train_weights);
  PrintWeights("known-false triples", built.graph.negative_weights);
  if (options.split.is_wanted()) PrintSplit(options.split, report.split);
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
  PrintFinding("entity_types", report.malformed_types, "lines that give no type", "left out");
  PrintFinding("entity_types", report.unknown_types, "lines of names that the graph lacks", "left out");
  const EntityTypes& types = built.graph.entity_types;
  if (!types.empty()) {
    PrintMessage(absl::StrCat(types.names.size(), " types of ", built.graph.num_entities() - report.untyped,
                              " entities (evaluate --list_types shows them)"));
  }
  if (report.untyped > 0) {
    const bool all = report.untyped == static_cast<int64_t>(report.untyped_names.size());
    PrintWarning(absl::StrCat(report.untyped, " entities have no type: ", absl::StrJoin(report.untyped_names, ", "),
                              all ? "" : ", ..."));
  }
  if (report.unlabeled > 0) {
    PrintWarning(absl::StrCat(report.unlabeled, " entities have no name for people; their own stands for it"));
  }
}

int64_t NumLeftOut(const BuildGraphOptions& options, const BuildGraphReport& report) {
  int64_t sum = 0;
  for (const SplitReport& split : report.splits) {
    sum += split.malformed.count + split.negated.count + split.unknown.count + split.duplicates.count;
    if (options.literals == Handling::kDrop) sum += split.literals.count;
    if (options.leaked == Handling::kDrop) sum += split.leaked.count;
    if (options.reversed == Handling::kDrop) sum += split.reversed.count;
    if (options.unseen == Handling::kDrop) sum += split.unseen.count;
  }
  return sum;
}

}  // namespace rutile
