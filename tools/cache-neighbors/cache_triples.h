// cache-neighbors for knowledge graphs: known tails, or the part of a graph around some entities.

#ifndef RUTILE_TOOLS_CACHE_NEIGHBORS_CACHE_TRIPLES_H_
#define RUTILE_TOOLS_CACHE_NEIGHBORS_CACHE_TRIPLES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/common/run/run_tool.h"

namespace rutile {

// The first input is a file of kind kg.triples. An error where it is a tensor file that is damaged.
absl::StatusOr<bool> IsTriplesInput(const ToolRun& run);

absl::Status CacheTriples(const ToolRun& run);

// INVALID_ARGUMENT for a flag of knowledge graphs that is given: "with structures".
absl::Status RefuseTriplesFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_CACHE_NEIGHBORS_CACHE_TRIPLES_H_
