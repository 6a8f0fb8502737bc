// Questions to a model, by name: which tail, or which head?

#ifndef RUTILE_LIB_GRAPH_LINK_QUERIES_H_
#define RUTILE_LIB_GRAPH_LINK_QUERIES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"

namespace rutile {

struct LinkQuery {
  int32_t entity = 0;    // the head that is given, or the tail
  int32_t relation = 0;  // 0 .. R - 1
  bool for_head = false;
};

// TSV, a query a line: "head relation ?" (the question mark may be left out) or "? relation tail"; gzip and "-" as
// everywhere; empty lines are skipped. Names are those of the graph; an entity or relation that has no such name is
// looked for among the labels, where it must be the only one. INVALID_ARGUMENT naming file and line: another number of
// columns, no or two question marks, a name that is unknown, a label of several, a file without queries.
absl::StatusOr<std::vector<LinkQuery>> ReadLinkQueries(absl::string_view path, const KnowledgeGraph& names);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_LINK_QUERIES_H_
