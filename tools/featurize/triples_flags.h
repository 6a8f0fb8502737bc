// Flags of featurize that say how a knowledge graph is read.

#ifndef RUTILE_TOOLS_FEATURIZE_TRIPLES_FLAGS_H_
#define RUTILE_TOOLS_FEATURIZE_TRIPLES_FLAGS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/graph/text/build_graph.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// True if a flag is given that only a knowledge graph has and that says where triples are.
bool TriplesFlagsGiven();

// Returns options from the flags and the positional inputs, whose roles are printed. INVALID_ARGUMENT naming the flag.
absl::StatusOr<BuildGraphOptions> BuildGraphOptionsFromFlags(const ToolRun& run);

// INVALID_ARGUMENT for a flag that is given although no file that was read has what it is about.
absl::Status RefuseUnusedTriplesFlags(const BuildGraphReport& report);

// INVALID_ARGUMENT ("with structures") for a flag of knowledge graphs that is given.
absl::Status RefuseTriplesFlags();

// Returns where to write the edge map; "" for nowhere.
std::string EdgeMapOutputFromFlags();

// Returns the metadata "split" of a graph that --split has split: shares and seed as JSON; "" if it has not.
std::string SplitMetadata(const GraphSplitOptions& options);

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_TRIPLES_FLAGS_H_
