// Flags of tracin that apply to structures, as options of gradient products.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIAL_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_POTENTIAL_FLAGS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lib/potential/influence/potential_products.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Reads --test_quantity, --test_atom and --test_component.
absl::StatusOr<PotentialTestOptions> TestOptionsFromFlags(const TracinFlags& flags);

// Returns the weights of energy, force and stress in --term_weights, as many as are given; empty without the flag.
absl::StatusOr<std::vector<double>> TermWeightsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIAL_FLAGS_H_
