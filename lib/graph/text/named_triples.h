// Reads triples from text files as ids of existing names: those of a model or of a graph.

#ifndef RUTILE_LIB_GRAPH_TEXT_NAMED_TRIPLES_H_
#define RUTILE_LIB_GRAPH_TEXT_NAMED_TRIPLES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/text/edge_map.h"
#include "lib/graph/triple.h"

namespace rutile {

// Returns the triples in the order of the file, with repetitions. Any format of TripleReader is accepted; "-" is
// standard input. Names are those of `names` (entities, relations and their labels: NameIds); in OpenKE's counted
// format, the ids themselves. edges: names the relations of KGX edges; where it grows, edges go by the
// labels of relations, which `names` must have. INVALID_ARGUMENT naming file and line: a line that is no triple, an
// unknown name, an id that is too large; a file without triples.
absl::StatusOr<std::vector<Triple>> ReadNamedTriples(absl::string_view path, const KnowledgeGraph& names,
                                                     EdgeMap* edges);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_NAMED_TRIPLES_H_
