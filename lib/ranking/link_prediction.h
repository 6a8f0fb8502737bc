// Predicts links: the best tails or heads of queries, and whether they are known.

#ifndef RUTILE_LIB_RANKING_LINK_PREDICTION_H_
#define RUTILE_LIB_RANKING_LINK_PREDICTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/link_queries.h"
#include "lib/ranking/candidates.h"
#include "lib/ranking/kge_scorer.h"

namespace rutile {

// Options of PredictLinks.
struct LinkPredictionOptions {
  int64_t top_k = 10;
  bool keep_known = true;  // if false, triples of any split and known-false ones are not answers
  // Whether probabilities come from a softmax over all answers, which is what models trained with cross-entropy mean;
  // otherwise each is the sigmoid of the answer's score.
  bool softmax = false;
  // Answers are taken from the candidates of the query's relation and side; null: from all entities. Probabilities stay
  // those among all entities.
  const Candidates* candidates = nullptr;
  int num_threads = 1;
};

// An answer to a query.
struct LinkAnswer {
  int32_t entity = 0;
  double score = 0;
  double probability = 0;
  const char* known = "";  // "train", "valid", "test": the first with the triple; "false": known to be; "": none
};

// Returns the answers of each query, best first. Heads are found through the inverse relation; a model without inverses
// scores all heads. INVALID_ARGUMENT: model and graph do not fit (CheckScorer).
absl::StatusOr<std::vector<std::vector<LinkAnswer>>> PredictLinks(const KgeScorer& scorer, const KnowledgeGraph& graph,
                                                                  absl::Span<const LinkQuery> queries,
                                                                  const LinkPredictionOptions& options);

// Returns a table with a header row and a row for each answer: query (from 1), whether head or tail is asked for,
// position (from 1), the triple by names and, if the graph has labels, by labels, score, probability if wanted, the
// split that has the triple, or "false".
std::string LinkPredictionsToTsv(const KnowledgeGraph& graph, absl::Span<const LinkQuery> queries,
                                 absl::Span<const std::vector<LinkAnswer>> answers, bool probabilities);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_LINK_PREDICTION_H_
