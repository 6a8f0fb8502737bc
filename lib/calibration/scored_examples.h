// True answers to questions about a graph, and false ones drawn at random, with the scores that a model gives them.

#ifndef RUTILE_LIB_CALIBRATION_SCORED_EXAMPLES_H_
#define RUTILE_LIB_CALIBRATION_SCORED_EXAMPLES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/ranking/candidates.h"
#include "lib/ranking/kge_scorer.h"
#include "lib/ranking/rank_options.h"

namespace rutile {

// An answer to a question. Questions for tails are numbered by their relation r, those for heads by R + r, whether or
// not the model has inverse relations.
struct ScoredExample {
  int32_t question = 0;
  double score = 0;
  bool is_true = false;
  double weight = 1;  // of the triple that it is an answer of, or for which it was drawn; above 0
};

// Which answers to score.
struct ExampleOptions {
  GraphSplit split = GraphSplit::kValid;
  // False answers for each triple and side: drawn from the entities that give a triple of no split, each at most once.
  // Where there are fewer, all of them.
  int64_t num_false = 100;
  uint64_t seed = 0;
  bool heads = true;  // both sides of each triple, or tails alone
  // False answers are drawn from these, and true ones that are none of them are left out; null: from all entities.
  const Candidates* candidates = nullptr;
};

// Scores the triples of the split, and as many false answers. The order is that of the triples; those of weight 0 are
// left out. Errors
// are those of the scorer, CANCELLED, and INVALID_ARGUMENT for a score that is not finite.
absl::StatusOr<std::vector<ScoredExample>> ScoreExamples(const KgeScorer& scorer, const KnowledgeGraph& graph,
                                                         const ExampleOptions& options);

}  // namespace rutile

#endif  // RUTILE_LIB_CALIBRATION_SCORED_EXAMPLES_H_
