// Files of kind kg.known/1: the known tails of a graph's triples, so that they need not be gathered in each run.

#ifndef RUTILE_LIB_GRAPH_KNOWN_FILE_H_
#define RUTILE_LIB_GRAPH_KNOWN_FILE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/known_tails.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& KnownSchema();

// Of train, valid and test together: what filtered ranking leaves out.
KnownTails AllKnownTails(const KnowledgeGraph& graph);

// known: AllKnownTails(graph). metadata: see lib/tensorfile/provenance.h; the kind's own keys are added.
absl::Status WriteKnownTails(absl::string_view path, const KnowledgeGraph& graph, const KnownTails& known,
                             const Metadata& metadata);

// NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule; also where the file was made of other triples than the
// graph's.
absl::StatusOr<KnownTails> ReadKnownTails(absl::string_view path, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_KNOWN_FILE_H_
