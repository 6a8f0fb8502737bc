// Weights of triples and known-false triples: the lists of a graph that have weights, and what must hold of them.

#ifndef RUTILE_LIB_GRAPH_TRIPLE_WEIGHTS_H_
#define RUTILE_LIB_GRAPH_TRIPLE_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"

namespace rutile {

// A list of triples in a graph, and their weights.
struct TripleList {
  const char* name;     // in messages and files
  const char* weights;  // the tensor of the weights in files
  std::vector<Triple> KnowledgeGraph::*triples;
  std::vector<double> KnowledgeGraph::*triple_weights;
};

// The three splits, and then the triples that are known to be false.
inline constexpr TripleList kTripleLists[] = {
    {"train", "train_weights", &KnowledgeGraph::train, &KnowledgeGraph::train_weights},
    {"valid", "valid_weights", &KnowledgeGraph::valid, &KnowledgeGraph::valid_weights},
    {"test", "test_weights", &KnowledgeGraph::test, &KnowledgeGraph::test_weights},
    {"negatives", "negative_weights", &KnowledgeGraph::negatives, &KnowledgeGraph::negative_weights}};

// Returns the weight of triple i of a list with these weights: 1 if there are none.
inline double WeightOf(const std::vector<double>& weights, size_t i) { return weights.empty() ? 1 : weights[i]; }

// True if any triple has a weight of its own, or is known to be false.
bool HasWeightsOrNegatives(const KnowledgeGraph& graph);

// INVALID_ARGUMENT naming list and row: another number of weights than of triples, a weight that is negative or not
// finite, a list of weights that are all 0, and a known-false triple that comes twice or is in a split.
absl::Status CheckTripleWeights(const KnowledgeGraph& graph);

// Returns the hash of all weights and of the known-false triples, in their order; "" if there are none. TriplesSha256
// does not hash them.
std::string WeightsSha256(const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TRIPLE_WEIGHTS_H_
