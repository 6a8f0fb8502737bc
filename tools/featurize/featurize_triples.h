// featurize of knowledge graphs: reads files of triples and writes triples.safetensors.

#ifndef RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_
#define RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Decides by the flags --train, --valid and --test, or by the content of the first input. False if inputs cannot be
// found; the code that reads structures reports the reason.
bool IsKnowledgeGraph(const ToolRun& run);

absl::Status FeaturizeTriples(const ToolRun& run);

// INVALID_ARGUMENT ("with structures") for a flag of knowledge graphs that is given.
absl::Status RefuseTriplesFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_
