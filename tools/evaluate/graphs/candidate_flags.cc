#include "tools/evaluate/graphs/candidate_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/tsv_cell.h"
#include "lib/file/file.h"
#include "lib/graph/neighborhood.h"
#include "lib/graph/relation_sides.h"
#include "lib/graph/vocabulary.h"
#include "tools/common/run/flag_domain.h"
#include "tools/common/run/given_flags.h"
#include "tools/common/run/run_tool.h"

DEFINE_string(candidates, "",
              "Knowledge graphs: rank targets also among these entities, and answer --queries by them alone: a type, a "
              "file with an entity a line, \"seen\" (those on that side of the relation in training) or \"types\" (all "
              "of the types seen there).");
DEFINE_string(head_candidates, "", "Knowledge graphs: the same for heads alone, in place of --candidates.");
DEFINE_string(tail_candidates, "", "Knowledge graphs: the same for tails alone, in place of --candidates.");
DEFINE_bool(list_types, false,
            "Knowledge graphs: print the types of entities, and which entities and types each relation has on both "
            "sides in training, in place of metrics.");

namespace rutile {
namespace {

const bool for_embeddings = FlagsAreFor(FlagDomain::kEmbeddings, __FILE__);

constexpr size_t kShownTypes = 5;
constexpr char kNoTypes[] =
    "neither the triples nor the model have types of entities; featurize --nodes or --entity_types adds them";

// Returns the least number of characters to insert, delete or replace that makes one text the other.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, replaced});
    }
  }
  return row.back();
}

// Returns the types whose names, with or without their prefix, "biolink:", are most like a text.
std::vector<std::string> NearestTypes(const std::string& text, const EntityTypes& types) {
  const std::string wanted = absl::AsciiStrToLower(text);
  std::vector<std::pair<size_t, std::string>> by_distance;
  for (const std::string& name : types.names) {
    const std::string lower = absl::AsciiStrToLower(name);
    const size_t colon = lower.rfind(':');
    size_t distance = EditDistance(wanted, lower);
    if (colon != std::string::npos) distance = std::min(distance, EditDistance(wanted, lower.substr(colon + 1)));
    by_distance.emplace_back(distance, name);
  }
  std::sort(by_distance.begin(), by_distance.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(kShownTypes, by_distance.size()); ++i) nearest.push_back(by_distance[i].second);
  return nearest;
}

absl::StatusOr<CandidateRule> ParseRule(absl::string_view flag, const std::string& value, const KnowledgeGraph& graph,
                                        const EntityTypes& types) {
  using Kind = CandidateRule::Kind;
  CandidateRule rule;
  if (value.empty()) return rule;
  rule.name = value;
  const auto error = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": ", parts...));
  };
  const int32_t type = types.Find(value);
  const bool is_type = type != Vocabulary::kUnknown;
  if (value == "seen" || value == "types") {
    if (is_type) return error("is a type of these entities, and a word of this flag: give a file of its entities");
    if (value == "types" && types.empty()) return error(kNoTypes);
    rule.kind = value == "seen" ? Kind::kSeen : Kind::kTypes;
    return rule;
  }
  const bool is_file = FileExists(value);
  if (is_type && is_file) return error("is a type and a file: write ./", value, " for the file, or rename it");
  rule.kind = Kind::kListed;
  if (is_type) {
    for (int32_t e = 0; e < graph.num_entities(); ++e) {
      const absl::Span<const int32_t> of = types.Of(e);
      if (std::binary_search(of.begin(), of.end(), type)) rule.entities.push_back(e);
    }
    return rule;
  }
  if (is_file) {
    ASSIGN_OR_RETURN(rule.entities, ReadEntities(value, graph));
    return rule;
  }
  if (types.empty()) return error("there is no such file, and ", kNoTypes);
  return error("is neither a type nor a file; the most similar of ", types.names.size(),
               " types: ", absl::StrJoin(NearestTypes(value, types), ", "), "; evaluate --list_types shows all");
}

// Checks that one side has a candidate in some relation.
absl::Status CheckNotEmpty(const Candidates& candidates, absl::Span<const int32_t> relations, bool is_head) {
  if (!candidates.has(is_head) || relations.empty()) return absl::OkStatus();
  for (const int32_t relation : relations) {
    if (candidates.Of(relation, is_head)->size() > 0) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no candidate: ", candidates.description(), "; evaluate --list_types shows types and relations"));
}

}  // namespace

bool ListsTypes() { return FLAGS_list_types; }

std::vector<std::string> CandidateFiles(const EntityTypes& types) {
  std::vector<std::string> files;
  for (const std::string& value : {FLAGS_candidates, FLAGS_head_candidates, FLAGS_tail_candidates}) {
    const bool is_word = value.empty() || value == "seen" || value == "types";
    if (!is_word && types.Find(value) == Vocabulary::kUnknown && FileExists(value)) files.push_back(value);
  }
  return files;
}

const EntityTypes& ChooseTypes(const KnowledgeGraph& graph, const KnowledgeGraph& names) {
  if (graph.entity_types.empty()) return names.entity_types;
  static bool has_warned = false;
  const bool is_asked =
      ListsTypes() || !FLAGS_candidates.empty() || !FLAGS_head_candidates.empty() || !FLAGS_tail_candidates.empty();
  if (is_asked && !has_warned && !names.entity_types.empty() && names.entity_types != graph.entity_types) {
    has_warned = true;
    PrintWarning("the triples have other types of entities than the model: those of the triples count");
  }
  return graph.entity_types;
}

absl::StatusOr<std::optional<Candidates>> CandidatesFromFlags(const KnowledgeGraph& graph, const EntityTypes& types,
                                                              absl::Span<const int32_t> relations,
                                                              const CandidateSides& sides) {
  const bool head_has_own = !sides.head || !FLAGS_head_candidates.empty();
  const bool tail_has_own = !sides.tail || !FLAGS_tail_candidates.empty();
  if (!FLAGS_candidates.empty() && head_has_own && tail_has_own) {
    return absl::InvalidArgumentError(
        "--candidates has no effect beside --head_candidates and --tail_candidates of all that is asked for: leave one "
        "out");
  }
  if (!sides.head) RETURN_IF_ERROR(RefuseFlags("where tails alone are ranked or asked for", {"head_candidates"}));
  if (!sides.tail) RETURN_IF_ERROR(RefuseFlags("where heads alone are asked for", {"tail_candidates"}));
  ASSIGN_OR_RETURN(const CandidateRule both, ParseRule("candidates", FLAGS_candidates, graph, types));
  ASSIGN_OR_RETURN(CandidateRule head, ParseRule("head_candidates", FLAGS_head_candidates, graph, types));
  ASSIGN_OR_RETURN(CandidateRule tail, ParseRule("tail_candidates", FLAGS_tail_candidates, graph, types));
  if (FLAGS_head_candidates.empty() && sides.head) head = both;
  if (FLAGS_tail_candidates.empty() && sides.tail) tail = both;
  if (head.kind == CandidateRule::Kind::kNone && tail.kind == CandidateRule::Kind::kNone) return std::nullopt;
  std::optional<Candidates> candidates(std::in_place, graph, types, relations, head, tail);
  for (const bool is_head : {true, false}) RETURN_IF_ERROR(CheckNotEmpty(*candidates, relations, is_head));
  return candidates;
}

std::string TypesTable(const KnowledgeGraph& graph, const EntityTypes& types) {
  std::string tsv = "grouping\tgroup\tside\tentities\ttypes\n";
  const std::vector<int64_t> counts = types.Counts();
  for (size_t i = 0; i < counts.size(); ++i) {
    absl::StrAppend(&tsv, "type\t", TsvCell(types.names[i]), "\t\t", counts[i], "\t\n");
  }
  const RelationSides sides = SeenSides(graph);
  for (int32_t r = 0; r < graph.num_relations(); ++r) {
    for (const bool is_head : {true, false}) {
      std::vector<std::string> seen;
      for (const auto& [type, count] : TypesAmong(types, sides.Of(r, is_head))) {
        seen.push_back(absl::StrCat(types.names[type], " ", count));
      }
      absl::StrAppend(&tsv, "relation\t", TsvCell(graph.relations[r]), "\t", is_head ? "head" : "tail", "\t",
                      sides.Of(r, is_head).size(), "\t", TsvCell(absl::StrJoin(seen, ", ")), "\n");
    }
  }
  return tsv;
}

}  // namespace rutile
