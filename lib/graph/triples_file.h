// Reads and writes files of kind kg.triples/1: a knowledge graph, its names and its three splits.
//
// TriplesSchema() declares the content, and docs/formats.md prints it. Names are text with a line for each id, not JSON
// in the metadata: two million of them load in half a second, and Python needs one line,
//   file["entity_names"].tobytes().decode().split("\n")[:-1]

#ifndef RUTILE_LIB_GRAPH_TRIPLES_FILE_H_
#define RUTILE_LIB_GRAPH_TRIPLES_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/graph/knowledge_graph.h"
#include "lib/graph/triple.h"
#include "lib/tensorfile/schema.h"
#include "lib/tensorfile/tensor_file.h"

namespace rutile {

// The tensors and metadata of the file.
const Schema& TriplesSchema();

// Writes a graph; "-" is standard output. metadata: see lib/tensorfile/provenance.h; the keys of this kind are added.
// INVALID_ARGUMENT for a graph that ReadTriples would refuse (CheckGraph).
absl::Status WriteTriples(absl::string_view path, const KnowledgeGraph& graph, const Metadata& metadata);

// Reads a graph. NOT_FOUND, or INVALID_ARGUMENT naming file, tensor and rule. It does not check that each triple comes
// once in a split.
absl::StatusOr<KnowledgeGraph> ReadTriples(absl::string_view path);
// Decodes a file whose tensors were read already, with the errors of ReadTriples.
absl::StatusOr<KnowledgeGraph> DecodeTriples(const TensorFile& file);

// Checks a graph. INVALID_ARGUMENT: no training triple; an id that is not below the number of names; names that are
// empty, repeated, not UTF-8 or contain a line end; another number of labels than names; more names than ids (int32;
// with inverse relations half as many relations); what CheckTripleWeights refuses (triple_weights.h).
absl::Status CheckGraph(const KnowledgeGraph& graph);

// Returns the hash of the triples as ids, the splits, the numbers of names, and whether there are inverses; an index of
// a graph must agree with it. Names are not hashed.
std::string TriplesSha256(const KnowledgeGraph& graph);

// Returns the hash of a set of triples by their names: the order of triples and ids of names do not matter, nor whether
// a triple comes twice. The names of the graph are part of it.
std::string TripleSetSha256(const KnowledgeGraph& names, const std::vector<Triple>& triples);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TRIPLES_FILE_H_
