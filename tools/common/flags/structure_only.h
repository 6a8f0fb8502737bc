// Flags of featurize and cache-neighbors that mean nothing to a knowledge graph.

#ifndef RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_ONLY_H_
#define RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_ONLY_H_

#include "absl/status/status.h"

namespace rutile {

// INVALID_ARGUMENT for the first that is given of those that both tools have: "--species has no effect with a knowledge
// graph: leave it out".
absl::Status RefuseStructureFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_COMMON_FLAGS_STRUCTURE_ONLY_H_
