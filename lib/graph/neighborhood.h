// Cuts out the part of a knowledge graph around some entities.

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

// A part of a graph.
struct Neighborhood {
  KnowledgeGraph graph;
  std::vector<int64_t> entities_by_hop;  // [hops + 1] number of entities at each distance
};

// An index of the entities that training triples connect, for many searches.
class EntityNeighbors {
 public:
  explicit EntityNeighbors(const KnowledgeGraph& graph);

  // Returns, for each of the N entities, whether at most `hops` training triples, walked in both directions, separate
  // it from one of `entities`. by_hop (may be null): [hops + 1] number of entities at each distance. CHECK-fails on an
  // id out of range.
  std::vector<bool> Within(absl::Span<const int32_t> entities, int hops, std::vector<int64_t>* by_hop = nullptr) const;

 private:
  // CSR: neighbors of entity e are neighbor_[begin_[e] .. begin_[e + 1]).
  std::vector<int64_t> begin_;
  std::vector<int32_t> neighbor_;
};

// Returns the entities that at most `hops` training triples separate from one of `entities` (ids), and all triples of
// each split between them. Triples are walked in both directions; those of valid and test are not walked, because they
// are unknown when a model is made. The remaining entities and relations get new ids in their old order; relations
// without a triple are dropped. INVALID_ARGUMENT: no entity, hops below 0, no training triple left.
absl::StatusOr<Neighborhood> CutNeighborhood(const KnowledgeGraph& graph, absl::Span<const int32_t> entities, int hops);

// Reads the entities that a file names, one in a line, and returns their ids; blank lines and those that start with #
// are skipped, unless an entity has that name, and repetitions count once. INVALID_ARGUMENT with file:line for a name
// that the graph lacks; an empty file.
absl::StatusOr<std::vector<int32_t>> ReadEntities(absl::string_view path, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_NEIGHBORHOOD_H_
