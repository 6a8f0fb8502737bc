#include "lib/ranking/candidates.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/logging.h"
#include "lib/file/sha256.h"
#include "lib/graph/relation_sides.h"

namespace rutile {
namespace {

// Returns the entities of each type.
std::vector<std::vector<int32_t>> ByType(const EntityTypes& types, int64_t num_entities) {
  std::vector<std::vector<int32_t>> by_type(types.names.size());
  for (int32_t e = 0; e < num_entities; ++e) {
    for (const int32_t type : types.Of(e)) by_type[type].push_back(e);
  }
  return by_type;
}

std::string SizeRange(const std::vector<EntitySet>& sets, const std::vector<int32_t>& relations,
                      const std::vector<int32_t>& set) {
  int64_t least = sets[set[relations[0]]].size(), most = least;
  for (const int32_t relation : relations) {
    least = std::min(least, sets[set[relation]].size());
    most = std::max(most, sets[set[relation]].size());
  }
  return least == most ? absl::StrCat(least) : absl::StrCat(least, " to ", most);
}

}  // namespace

Candidates::Candidates(const KnowledgeGraph& graph, const EntityTypes& types, absl::Span<const int32_t> relations,
                       const CandidateRule& head, const CandidateRule& tail) {
  using Kind = CandidateRule::Kind;
  std::vector<int32_t> of(relations.begin(), relations.end());
  std::sort(of.begin(), of.end());
  of.erase(std::unique(of.begin(), of.end()), of.end());
  const auto needs = [&](Kind kind) { return head.kind == kind || tail.kind == kind; };
  CHECK(!needs(Kind::kTypes) || !types.empty());
  RelationSides sides;
  if (needs(Kind::kSeen) || needs(Kind::kTypes)) sides = SeenSides(graph);
  std::vector<std::vector<int32_t>> by_type;
  if (needs(Kind::kTypes)) by_type = ByType(types, graph.num_entities());

  std::map<std::vector<int32_t>, int32_t> numbers;  // of the sets, by the types in them
  const auto add = [&](absl::Span<const int32_t> entities) {
    sets_.emplace_back(graph.num_entities(), entities);
    return static_cast<int32_t>(sets_.size()) - 1;
  };
  const auto add_types = [&](const std::vector<int32_t>& seen) {
    std::vector<int32_t> key, entities;
    for (const auto& [type, count] : TypesAmong(types, seen)) key.push_back(type);
    const auto [number, is_new] = numbers.emplace(key, 0);
    if (!is_new) return number->second;
    for (const int32_t type : key) entities.insert(entities.end(), by_type[type].begin(), by_type[type].end());
    return number->second = add(entities);
  };
  const auto fill = [&](const CandidateRule& rule, bool is_head) -> std::vector<int32_t> {
    if (rule.kind == Kind::kNone) return {};
    std::vector<int32_t> set(graph.num_relations(), -1);
    const int32_t listed = rule.kind == Kind::kListed ? add(rule.entities) : -1;
    for (const int32_t relation : of) {
      const bool is_listed = rule.kind == Kind::kListed, is_seen = rule.kind == Kind::kSeen;
      set[relation] = is_listed ? listed
                      : is_seen ? add(sides.Of(relation, is_head))
                                : add_types(sides.Of(relation, is_head));
    }
    return set;
  };
  head_ = fill(head, true);
  tail_ = fill(tail, false);

  Sha256 sha256;
  const int64_t num_bytes = (graph.num_entities() + 7) / 8;
  for (const bool is_head : {true, false}) {
    const CandidateRule& rule = is_head ? head : tail;
    if (rule.kind == Kind::kNone || of.empty()) continue;
    absl::StrAppend(&description_, description_.empty() ? "" : ", ", is_head ? "heads" : "tails", " among ",
                    rule.kind == Kind::kListed ? rule.name
                    : rule.kind == Kind::kSeen ? "those seen on that side of the relation in training"
                                               : "those of the types seen on that side of the relation in training",
                    " (", SizeRange(sets_, of, is_head ? head_ : tail_), " of ", graph.num_entities(), " entities)");
    for (const int32_t relation : of) {
      sha256.Update(absl::StrCat(is_head ? "head " : "tail ", relation, "\n"));
      sha256.Update(absl::string_view(reinterpret_cast<const char*>(Of(relation, is_head)->bits()), num_bytes));
    }
  }
  sha256_ = sha256.HexDigest();
}

}  // namespace rutile
