// Assigns roles to the input files of a knowledge graph: triples of a split, ids, nodes, an edge map.

#ifndef RUTILE_TOOLS_FEATURIZE_TRIPLES_INPUTS_H_
#define RUTILE_TOOLS_FEATURIZE_TRIPLES_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/graph/text/build_graph.h"

namespace rutile {

// Adds files to options. The content of a file decides its role. The split follows from a word in the file's name
// (train, training, valid, validation, val, dev, test or testing), or from a folder of such a name that not all files
// share, if all files of triples have one; else from the position: train, valid, test. Names that disagree with folders
// of several splits are an error. Files of ids belong to entities or relations by their names ("entity2id.txt",
// "rel_dict.txt", "node_name_dict.txt"). If none of this decides, INVALID_ARGUMENT says which flag to use.
absl::Status AssignTriplesInputs(absl::Span<const std::string> paths, BuildGraphOptions* options);

// Returns the roles for a message: "train a.txt, valid b.txt".
std::string DescribeInputs(const BuildGraphOptions& options);

// Returns all files to read.
std::vector<std::string> AllInputs(const BuildGraphOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_TRIPLES_INPUTS_H_
