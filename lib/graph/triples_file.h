// Files of kind kg.triples/1: a knowledge graph, its names and its three splits.
//
// What the file holds is declared in TriplesSchema() and printed in docs/formats.md. Names are text with a line for
// each id, not JSON in the metadata: two million of them load in half a second, and Python needs one line,
//   file["entity_names"].tobytes().decode().split("\n")[:-1]

#ifndef RUTILE_LIB_GRAPH_TRIPLES_FILE_H_
#define RUTILE_LIB_GRAPH_TRIPLES_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

const Schema& TriplesSchema();

// metadata: see lib/tensorfile/provenance.h; the kind's own keys are added. INVALID_ARGUMENT, naming what is wrong, for
// a graph that ReadTriples would refuse (CheckGraph). "-" is standard output.
absl::Status WriteTriples(absl::string_view path, const KnowledgeGraph& graph, const Metadata& metadata);

// NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule. That each triple is once in a split is not looked at.
absl::StatusOr<KnowledgeGraph> ReadTriples(absl::string_view path);
// The same of a file whose tensors were read already.
absl::StatusOr<KnowledgeGraph> DecodeTriples(const TensorFile& file);

// INVALID_ARGUMENT: no training triple; an id that is not below the number of names; names that are empty, come twice,
// are not UTF-8 or hold a line end; another number of labels than names; more names than ids (int32; with inverse
// relations half as many relations).
absl::Status CheckGraph(const KnowledgeGraph& graph);

// Of the triples as ids, the splits, the numbers of names and whether there are inverses: what an index of a graph must
// agree with. Names do not count.
std::string TriplesSha256(const KnowledgeGraph& graph);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TRIPLES_FILE_H_
