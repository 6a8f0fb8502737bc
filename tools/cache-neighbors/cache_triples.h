// cache-neighbors of knowledge graphs: known tails, or the subgraph around some entities.

#ifndef RUTILE_TOOLS_CACHE_NEIGHBORS_CACHE_TRIPLES_H_
#define RUTILE_TOOLS_CACHE_NEIGHBORS_CACHE_TRIPLES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// True if the first input is a file of kind kg.triples. Returns an error if it is a damaged tensor file.
absl::StatusOr<bool> IsTriplesInput(const ToolRun& run);

absl::Status CacheTriples(const ToolRun& run);

// INVALID_ARGUMENT ("with structures") for a flag of knowledge graphs that is given.
absl::Status RefuseTriplesFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_CACHE_NEIGHBORS_CACHE_TRIPLES_H_
