// Reads queries to a model by name: which tail, or which head?

#ifndef RUTILE_LIB_GRAPH_LINK_QUERIES_H_
#define RUTILE_LIB_GRAPH_LINK_QUERIES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"

namespace rutile {

// A query (head, relation, ?) or (?, relation, tail).
struct LinkQuery {
  int32_t entity = 0;    // the given head or tail
  int32_t relation = 0;  // 0 .. R - 1
  bool for_head = false;
};

// Reads TSV with a query in each line: "head relation ?" (the question mark may be omitted) or "? relation tail". gzip
// and "-" are accepted; empty lines are skipped. Names are those of the graph; text that is no name is looked up among
// the labels, where it must be unique. INVALID_ARGUMENT naming file and line: another number of columns, no or two
// question marks, an unknown name, an ambiguous label, a file without queries.
absl::StatusOr<std::vector<LinkQuery>> ReadLinkQueries(absl::string_view path, const KnowledgeGraph& names);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_LINK_QUERIES_H_
