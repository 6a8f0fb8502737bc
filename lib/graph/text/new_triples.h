// Reads triples of entities that a model does not know, from which their rows are found (lib/kge/new_entities).

#ifndef RUTILE_LIB_GRAPH_TEXT_NEW_TRIPLES_H_
#define RUTILE_LIB_GRAPH_TEXT_NEW_TRIPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"

namespace rutile {

// New entities with their triples. The ids of new entities follow those of the N known ones.
struct NewTriples {
  std::string path;                // of the file
  std::vector<std::string> names;  // of the new entities, in the order in which they appear: ids N, N + 1 ...
  std::vector<Triple> triples;     // each once, in the order of the file; exactly one of head and tail is new
  int64_t num_repeated = 0;        // lines that repeat a triple
};

// Reads a text file in any format of TripleReader that has names; "-" is standard input. known: names and labels of the
// model's entities and relations; a text that is neither an entity's name nor its label is a new entity. KGX edges go
// by the labels of relations. INVALID_ARGUMENT naming file and line: a line that is no triple, a relation that is not
// known, a label of several entities, a triple of two known entities (there is nothing to find) or of two new ones
// (neither row is known); a file of ids; a file without triples; more entities than ids.
absl::StatusOr<NewTriples> ReadNewTriples(absl::string_view path, const KnowledgeGraph& known);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_NEW_TRIPLES_H_
