// Reads and writes files of kind kg.known/1, which cache the known tails of a graph, so that a run need not gather
// them.

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

// The tensors and metadata of the file.
const Schema& KnownSchema();

// Returns the known tails of train, valid and test together, which filtered ranking leaves out.
KnownTails AllKnownTails(const KnowledgeGraph& graph);

// Writes a file. known: AllKnownTails(graph). metadata: see lib/tensorfile/provenance.h; the keys of this kind are
// added.
absl::Status WriteKnownTails(absl::string_view path, const KnowledgeGraph& graph, const KnownTails& known,
                             const Metadata& metadata);

// Reads a file. NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule; also if the file was made from triples
// other than the graph's.
absl::StatusOr<KnownTails> ReadKnownTails(absl::string_view path, const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_KNOWN_FILE_H_
