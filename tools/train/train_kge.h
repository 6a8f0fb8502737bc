// Trains embeddings of a knowledge graph: train on triples.

#ifndef RUTILE_TOOLS_TRAIN_TRAIN_KGE_H_
#define RUTILE_TOOLS_TRAIN_TRAIN_KGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// True if the first input is a file of triples or of known tails. False for a file that cannot be read; the code that
// reads it later reports the reason.
bool HoldsTriples(const std::vector<std::string>& inputs);

// Trains on `inputs`, the run's expanded arguments: a file of kind kg.triples/1, and optionally its kg.known/1.
absl::Status TrainKge(const ToolRun& run, const std::vector<std::string>& inputs);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRAIN_TRAIN_KGE_H_
