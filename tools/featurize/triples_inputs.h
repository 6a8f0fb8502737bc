// Which of the inputs is what: triples of which split, ids, nodes, an edge map.

#ifndef RUTILE_TOOLS_FEATURIZE_TRIPLES_INPUTS_H_
#define RUTILE_TOOLS_FEATURIZE_TRIPLES_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/graph/build_graph.h"

namespace rutile {

// Adds files to options: what a file is by its content, its split by its name (a word train, training, valid,
// validation, val, dev, test or testing) where all files of triples have one, else by position: train, valid, test.
// Files of ids are entities' or relations' by their names ("entity2id.txt", "rel_dict.txt", "node_name_dict.txt").
// INVALID_ARGUMENT says which flag to use where this does not decide.
absl::Status AssignTriplesInputs(absl::Span<const std::string> paths, BuildGraphOptions* options);

// "train a.txt, valid b.txt": what is what, for the message.
std::string DescribeInputs(const BuildGraphOptions& options);

// All files that are read.
std::vector<std::string> AllInputs(const BuildGraphOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_TRIPLES_INPUTS_H_
