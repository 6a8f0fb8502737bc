// Influence between the structures of an interatomic potential.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_DOMAIN_H_
#define RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_DOMAIN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/potential/influence/gradient_example.h"
#include "tools/common/run/run_tool.h"
#include "tools/tracin/checkpoint_set.h"
#include "tools/tracin/influence_domain.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// checkpoint_set: null for --merge; the domain then has names but no products. reference: null unless --verify.
// INVALID_ARGUMENT: no model file, data of another descriptor, tests without the requested quantity, and with --strict
// data that are not those of the run.
absl::StatusOr<std::unique_ptr<InfluenceDomain>> MakePotentialDomain(const ToolRun& run, const TracinFlags& flags,
                                                                     const CheckpointSet* checkpoint_set,
                                                                     GradientReference reference);

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_DOMAIN_H_
