// Defines a knowledge graph in memory: names, and triples in three splits.

#ifndef RUTILE_LIB_GRAPH_KNOWLEDGE_GRAPH_H_
#define RUTILE_LIB_GRAPH_KNOWLEDGE_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/graph/entity_types.h"
#include "lib/graph/triple.h"

namespace rutile {

// The data that models are trained and ranked on. BuildGraph or ReadTriples make it.
struct KnowledgeGraph {
  std::vector<std::string> entities;         // [N] names by id, as in the data, each once
  std::vector<std::string> relations;        // [R]
  std::vector<std::string> entity_labels;    // [N] names for people, or empty
  std::vector<std::string> relation_labels;  // [R] names for people, or empty
  EntityTypes entity_types;                  // of the N entities, or empty
  bool inverse_relations = true;             // models learn R more relations: R + r is the inverse of r
  std::vector<Triple> train, valid, test;    // relations are in 0..R-1; each triple comes once in a split
  std::vector<Triple> negatives;             // triples that are known to be false; none is in a split
  // How much each triple of a list counts in the loss, at least 0, or empty where all count 1 (triple_weights.h).
  std::vector<double> train_weights, valid_weights, test_weights, negative_weights;

  int64_t num_entities() const { return static_cast<int64_t>(entities.size()); }
  int64_t num_relations() const { return static_cast<int64_t>(relations.size()); }
  // Number of relations that a query can name: R or 2 R.
  int64_t num_query_relations() const { return inverse_relations ? 2 * num_relations() : num_relations(); }
};

// What files, flags and messages call the splits, in their order.
inline constexpr const char* kSplitNames[] = {"train", "valid", "test"};

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_KNOWLEDGE_GRAPH_H_
