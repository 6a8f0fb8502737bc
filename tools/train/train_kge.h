// train of triples: embeddings of a knowledge graph.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_KGE_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_KGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Whether the first of the inputs is a file of triples or of known tails. False for what cannot be read: whoever reads
// it then says why.
bool HoldsTriples(const std::vector<std::string>& inputs);

// inputs: the run's arguments, expanded: a file of kind kg.triples/1, and perhaps its kg.known/1.
absl::Status TrainKge(const ToolRun& run, const std::vector<std::string>& inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_KGE_H_
