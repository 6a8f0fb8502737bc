// Domains and ranges of relations as training shows them: which entities are heads, and which are tails, of a relation.

#ifndef RUTILE_LIB_GRAPH_RELATION_SIDES_H_
#define RUTILE_LIB_GRAPH_RELATION_SIDES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/knowledge_graph.h"

namespace rutile {

// The entities on both sides of each relation, ascending, each once.
struct RelationSides {
  std::vector<std::vector<int32_t>> heads, tails;  // [R]

  const std::vector<int32_t>& Of(int32_t relation, bool is_head) const { return (is_head ? heads : tails)[relation]; }
};

// Returns the heads and tails that the training triples have, without those of weight 0, which are not learned.
RelationSides SeenSides(const KnowledgeGraph& graph);

// Returns the types that entities have, ascending, each with the number of entities that have it.
std::vector<std::pair<int32_t, int64_t>> TypesAmong(const EntityTypes& types, absl::Span<const int32_t> entities);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_RELATION_SIDES_H_
