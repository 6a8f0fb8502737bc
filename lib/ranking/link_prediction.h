// What a model answers: the best tails or heads of queries, and whether they are known.

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
#include "lib/ranking/kge_scorer.h"

namespace rutile {

struct LinkPredictionOptions {
  int64_t top_k = 10;
  bool keep_known = true;  // else triples of any split are not answers
  // Of a softmax over all answers, as models trained with cross-entropy mean it; else each answer's own, the sigmoid of
  // its score.
  bool softmax = false;
  int num_threads = 1;
};

struct LinkAnswer {
  int32_t entity = 0;
  double score = 0;
  double probability = 0;
  const char* known = "";  // "train", "valid" or "test": the first split that has the triple; "": none
};

// Best answers first, for each query. Heads are asked for through the inverse relation; a model without inverses scores
// all heads. INVALID_ARGUMENT: model and graph do not fit (CheckScorer).
absl::StatusOr<std::vector<std::vector<LinkAnswer>>> PredictLinks(const KgeScorer& scorer, const KnowledgeGraph& graph,
                                                                  absl::Span<const LinkQuery> queries,
                                                                  const LinkPredictionOptions& options);

// A header row, then a row for each answer: query (from 1), which of head and tail is asked for, place (from 1), the
// triple by names and, where the graph has labels, by labels, score, probability if wanted, the split that has it.
std::string LinkPredictionsToTsv(const KnowledgeGraph& graph, absl::Span<const LinkQuery> queries,
                                 absl::Span<const std::vector<LinkAnswer>> answers, bool probabilities);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_LINK_PREDICTION_H_
