// Names for people from KGX nodes: lines of {"id": "CHEBI:15377", "name": "water", ...}.

#ifndef RUTILE_LIB_GRAPH_KGX_NODES_H_
#define RUTILE_LIB_GRAPH_KGX_NODES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/graph/finding.h"
#include "lib/graph/vocabulary.h"

namespace rutile {

// labels: [entities.size()], the name of each entity that has a node with one, else left as it is; of several nodes the
// first. Tabs and line ends in names become spaces. Categories and other nodes are ignored. A line that is no node is
// an INVALID_ARGUMENT with file:line, or counted in malformed (when that is Handling::kDrop).
absl::Status ReadKgxNodes(absl::string_view path, const Vocabulary& entities, Handling on_malformed,
                          std::vector<std::string>* labels, Finding* malformed);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_KGX_NODES_H_
