// Writes the ranks of each triple as a table for people and spreadsheets.

#ifndef RUTILE_LIB_RANKING_RANK_TABLES_H_
#define RUTILE_LIB_RANKING_RANK_TABLES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"
#include "lib/ranking/ranking_metrics.h"

namespace rutile {

// Writes a header row, then a row for each triple: names, labels if the graph has them, and realistic, optimistic and
// pessimistic rank of the tail and, if heads were ranked, of the head, then the realistic rank among candidates of each
// side that has such ranks, empty for a target that is no candidate. The file appears complete or not at all, and is
// never in memory. ranks: one for each of the triples. Errors of writing, which name the path.
absl::Status WriteRanksTsv(absl::string_view path, const KnowledgeGraph& graph, absl::Span<const Triple> triples,
                           const TripleRanks& ranks);

}  // namespace rutile

#endif  // RUTILE_LIB_RANKING_RANK_TABLES_H_
