// featurize of knowledge graphs: reads files of triples and writes triples.safetensors.

#ifndef RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_
#define RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// Decides by flags such as --train and --columns, or by the content of the first inputs. False if inputs cannot be
// found; the code that reads structures reports the reason. INVALID_ARGUMENT for a file that is no text, such as one
// compressed by xz.
absl::StatusOr<bool> IsKnowledgeGraph(const ToolRun& run);

absl::Status FeaturizeTriples(const ToolRun& run);

}  // namespace rutile

#endif  // RUTILE_TOOLS_FEATURIZE_FEATURIZE_TRIPLES_H_
