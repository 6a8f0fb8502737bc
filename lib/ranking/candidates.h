// Candidates: the entities that a target is also ranked among, beside all entities. To rank a drug among drugs, not
// among genes and diseases, too.

#ifndef RUTILE_LIB_RANKING_CANDIDATES_H_
#define RUTILE_LIB_RANKING_CANDIDATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/ranking/entity_set.h"

namespace rutile {

// Which entities are candidates on one side, heads or tails.
struct CandidateRule {
  enum class Kind {
    kNone,    // the side has no candidates: it is ranked among all entities only
    kListed,  // `entities`, for each relation
    kSeen,    // the entities that are on this side of the relation in training: its domain or range
    kTypes,   // the entities that have a type of one of these
  };
  Kind kind = Kind::kNone;
  std::vector<int32_t> entities;
  std::string name;  // of kListed, for people: "biolink:Drug", "drugs.txt"
};

// The candidates of each relation and side.
class Candidates {
 public:
  // Makes those of `relations` (0 .. R - 1, in any order, also several times). types: of the graph's entities;
  // CHECK-fails if there are none and a rule needs them.
  Candidates(const KnowledgeGraph& graph, const EntityTypes& types, absl::Span<const int32_t> relations,
             const CandidateRule& head, const CandidateRule& tail);

  // Returns the candidates of one side of a relation, or null if the side has none.
  const EntitySet* Of(int32_t relation, bool is_head) const {
    const std::vector<int32_t>& set = is_head ? head_ : tail_;
    return set.empty() ? nullptr : &sets_[set[relation]];
  }
  bool has(bool is_head) const { return !(is_head ? head_ : tail_).empty(); }

  // Says what they are: "heads among biolink:Drug (120 entities), tails among those seen in training (3 to 70)".
  const std::string& description() const { return description_; }
  // Returns the hash of all sets with their relations and sides.
  const std::string& sha256() const { return sha256_; }

 private:
  std::vector<EntitySet> sets_;
  std::vector<int32_t> head_, tail_;  // [R] number of the set, or empty
  std::string description_, sha256_;
};

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_CANDIDATES_H_
