// evaluate of knowledge-graph models: ranks, predictions, embeddings.

#ifndef RUTILE_TOOLS_EVALUATE_EVALUATE_KGE_H_
#define RUTILE_TOOLS_EVALUATE_EVALUATE_KGE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// The first argument is one file, of kind kge. What cannot be read is none: whoever reads it says why.
bool IsKgeModel(const std::string& path);

// MODEL [TRIPLES [KNOWN]]: does what the flags ask for and prints it. FAILED_PRECONDITION: below --min_mrr.
absl::Status EvaluateKge(const ToolRun& run);

// INVALID_ARGUMENT where a flag of EvaluateKge is given; `why`: "with an interatomic potential".
absl::Status RefuseKgeFlags(absl::string_view why);

}  // namespace rutile

#endif  // RUTILE_TOOLS_EVALUATE_EVALUATE_KGE_H_
