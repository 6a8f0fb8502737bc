// Influence between the triples of a knowledge graph.

#ifndef RUTILE_TOOLS_TRACIN_GRAPHS_KGE_DOMAIN_H_
#define RUTILE_TOOLS_TRACIN_GRAPHS_KGE_DOMAIN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/kge/influence/kge_reference_example.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/influence_domain.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// checkpoint_set: null for --merge; the domain then has names but no products. reference: null unless --verify.
// INVALID_ARGUMENT: files that do not belong together (names, sizes), triples of unknown names with file and line, and
// with --strict triples that are not those of the run.
absl::StatusOr<std::unique_ptr<InfluenceDomain>> MakeKgeDomain(const TracinFlags& flags,
                                                               const CheckpointSet* checkpoint_set,
                                                               KgeReference reference);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_GRAPHS_KGE_DOMAIN_H_
