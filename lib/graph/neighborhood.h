// The part of a knowledge graph around some entities.

#ifndef RUTILE_LIB_GRAPH_NEIGHBORHOOD_H_
#define RUTILE_LIB_GRAPH_NEIGHBORHOOD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"

namespace rutile {

struct Neighborhood {
  KnowledgeGraph graph;
  std::vector<int64_t> entities_by_hop;  // [hops + 1] how many are that far away
};

// Which entities training triples join, for asking many times.
class EntityNeighbors {
 public:
  explicit EntityNeighbors(const KnowledgeGraph& graph);

  // [N] whether at most `hops` training triples, walked in both directions, separate an entity from one of `entities`.
  // by_hop (may be null): [hops + 1] how many are that far away. CHECK-fails on an id that is out of range.
  std::vector<bool> Within(absl::Span<const int32_t> entities, int hops, std::vector<int64_t>* by_hop = nullptr) const;

 private:
  // CSR: those of entity e are neighbor_[begin_[e] .. begin_[e + 1]).
  std::vector<int64_t> begin_;
  std::vector<int32_t> neighbor_;
};

// The entities that at most `hops` training triples separate from one of `entities` (ids; triples are walked in both
// directions; those of valid and test are not, since nobody knows them when the model is made), and all triples of each
// split between them. Entities and relations that remain have new ids, in their old order; relations without a triple
// go. INVALID_ARGUMENT: no entity, hops below 0, no training triple left.
absl::StatusOr<Neighborhood> CutNeighborhood(const KnowledgeGraph& graph, absl::Span<const int32_t> entities, int hops);

// Ids of the entities that a file names, one in a line; blank lines and those that start with # are skipped. An entity
// that is named again counts once. INVALID_ARGUMENT with file:line for a name that the graph lacks; an empty file.
absl::StatusOr<std::vector<int32_t>> ReadEntities(absl::string_view path, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_NEIGHBORHOOD_H_
