// Reads labels (names for people) and types from KGX nodes: lines of {"id": "CHEBI:15377", "name": "water", "category":
// ["biolink:SmallMolecule"], ...}, or nodes.tsv, whose header names the columns "id", "name" and "category". In a
// table,
// "|" is between several categories.

#ifndef RUTILE_LIB_GRAPH_TEXT_FORMATS_KGX_NODES_H_
#define RUTILE_LIB_GRAPH_TEXT_FORMATS_KGX_NODES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/graph/entity_types.h"
#include "lib/graph/text/finding.h"
#include "lib/graph/vocabulary.h"

namespace rutile {

// Sets labels[e] of each entity e that has a node with a name, the first one if there are several; other labels stay as
// they are. labels: [entities.size()]. Adds the categories of all nodes of an entity to `types`. Tabs and line ends
// become spaces. Other nodes are ignored. A line that is no node is an INVALID_ARGUMENT with file:line, or counted in
// `malformed` (with Handling::kDrop).
absl::Status ReadKgxNodes(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          std::vector<std::string>* labels, EntityTypesBuilder* types, Finding* malformed);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TEXT_FORMATS_KGX_NODES_H_
