// The computation that was asked for, whatever the domain, and its files.

#ifndef RUTILE_TOOLS_TRACIN_INFLUENCE_RUN_H_
#define RUTILE_TOOLS_TRACIN_INFLUENCE_RUN_H_

#include "absl/status/status.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/influence_domain.h"
#include "tools/tracin/output_flags.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// FAILED_PRECONDITION: --verify found a difference. CANCELLED after a signal: what was done is kept beside --output.
absl::Status RunInfluence(const ToolRun& run, const TracinFlags& flags, const OutputFlags& outputs,
                          const CheckpointSet& points, const InfluenceDomain& domain);

// --merge: the arguments' files as one. domain: for names, or null.
absl::Status MergeRuns(const ToolRun& run, const OutputFlags& outputs, const InfluenceDomain* domain);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_INFLUENCE_RUN_H_
