// Evaluates knowledge-graph models: ranks, predictions, embeddings.

#ifndef RUTILE_TOOLS_EVALUATE_GRAPHS_EVALUATE_KGE_H_
#define RUTILE_TOOLS_EVALUATE_GRAPHS_EVALUATE_KGE_H_

#include <string>

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// True if the argument names files (SplitInputs) of which the first is of kind kge. False for a file that cannot be
// read; the code that reads it later reports the reason.
bool IsKgeModel(const std::string& argument);

// Evaluates MODEL [TRIPLES [KNOWN]] as the flags request, and prints the result. FAILED_PRECONDITION: below --min_mrr.
absl::Status EvaluateKge(const ToolRun& run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_GRAPHS_EVALUATE_KGE_H_
