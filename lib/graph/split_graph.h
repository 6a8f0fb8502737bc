// Splits the training triples of a graph: a share becomes validation or test triples.

#ifndef RUTILE_LIB_GRAPH_SPLIT_GRAPH_H_
#define RUTILE_LIB_GRAPH_SPLIT_GRAPH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"

namespace rutile {

// Shares of the training triples, and the seed that draws them.
struct GraphSplitOptions {
  double validation_fraction = 0;
  double test_fraction = 0;
  uint64_t seed = 0;

  bool is_wanted() const { return validation_fraction > 0 || test_fraction > 0; }
};

// What a split moved, and what it could not.
struct GraphSplitResult {
  int64_t valid = 0, test = 0;              // triples that were moved
  int64_t valid_short = 0, test_short = 0;  // triples that shares ask for, but that had to stay in training
};

// Checks options. INVALID_ARGUMENT: a share that is negative or not below 1, or both that leave no training triples.
absl::Status CheckGraphSplitOptions(const GraphSplitOptions& options);

// Moves triples from train to valid and test. Each relation gives its share, as nearly as whole triples allow, and all
// together give theirs. A triple stays if its head, tail or relation would be in no training triple without it. Triples
// of weight 0, which are not learned, stay, and neither count nor keep a name in training. What moves depends on the
// seed and the training triples, as ids, but not on their order, which each split keeps. INVALID_ARGUMENT: see
// CheckGraphSplitOptions; a share above 0 of which nothing can move.
absl::StatusOr<GraphSplitResult> SplitTraining(const GraphSplitOptions& options, KnowledgeGraph* graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_SPLIT_GRAPH_H_
