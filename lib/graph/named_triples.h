// Triples of text files in the ids of names that are there already: those of a model or of a graph.

#ifndef RUTILE_LIB_GRAPH_NAMED_TRIPLES_H_
#define RUTILE_LIB_GRAPH_NAMED_TRIPLES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/edge_map.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"

namespace rutile {

// In the order of the file, whatever comes twice included. Any format of TripleReader; "-" is standard input. Names are
// those of `names` (entities, relations and their labels: NameIds); of OpenKE's counted ids, the ids themselves. edges:
// names the relations of KGX edges. INVALID_ARGUMENT naming file and line: a line that is no triple, a name that is
// unknown, an id that is too large; a file without triples.
absl::StatusOr<std::vector<Triple>> ReadNamedTriples(absl::string_view path, const KnowledgeGraph& names,
                                                     EdgeMap* edges);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_NAMED_TRIPLES_H_
