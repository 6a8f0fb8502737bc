#include "lib/graph/relation_sides.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "lib/graph/triple_weights.h"

namespace rutile {

RelationSides SeenSides(const KnowledgeGraph& graph) {
  RelationSides sides;
  sides.heads.resize(graph.num_relations());
  sides.tails.resize(graph.num_relations());
  for (size_t i = 0; i < graph.train.size(); ++i) {
    if (WeightOf(graph.train_weights, i) == 0) continue;
    const Triple& triple = graph.train[i];
    sides.heads[triple.relation].push_back(triple.head);
    sides.tails[triple.relation].push_back(triple.tail);
  }
  for (std::vector<std::vector<int32_t>>* side : {&sides.heads, &sides.tails}) {
    for (std::vector<int32_t>& entities : *side) {
      std::sort(entities.begin(), entities.end());
      entities.erase(std::unique(entities.begin(), entities.end()), entities.end());
      entities.shrink_to_fit();
    }
  }
  return sides;
}

std::vector<std::pair<int32_t, int64_t>> TypesAmong(const EntityTypes& types, absl::Span<const int32_t> entities) {
  std::map<int32_t, int64_t> counts;
  for (const int32_t entity : entities) {
    for (const int32_t type : types.Of(entity)) ++counts[type];
  }
  return {counts.begin(), counts.end()};
}

}  // namespace rutile
