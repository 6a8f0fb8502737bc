// Runs the requested influence computation in any domain, and writes its files.

#ifndef RUTILE_TOOLS_TRACIN_INFLUENCE_RUN_H_
#define RUTILE_TOOLS_TRACIN_INFLUENCE_RUN_H_

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/influence_domain.h"
#include "tools/tracin/outputs/output_flags.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Computes and writes the results. FAILED_PRECONDITION: --verify found a difference. CANCELLED after a signal; partial
// results are kept beside --output.
absl::Status RunInfluence(const ToolRun& run, const TracinFlags& flags, const OutputFlags& outputs,
                          const CheckpointSet& checkpoint_set, const InfluenceDomain& domain);

// Merges the argument files into one result (--merge). domain: provides names; may be null.
absl::Status MergeRuns(const ToolRun& run, const OutputFlags& outputs, const InfluenceDomain* domain);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_INFLUENCE_RUN_H_
