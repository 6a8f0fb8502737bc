// featurize for knowledge graphs: files of triples in, triples.safetensors out.

#ifndef RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_
#define RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// By the flags --train, --valid and --test, or by what the first of the inputs hold. False where inputs cannot be
// found: whoever reads structures says so.
bool IsKnowledgeGraph(const ToolRun& run);

absl::Status FeaturizeTriples(const ToolRun& run);

// INVALID_ARGUMENT for a flag of knowledge graphs that is given: "with structures".
absl::Status RefuseTriplesFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_
