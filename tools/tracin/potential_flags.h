// Flags of tracin about structures, as options of their products.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIAL_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_POTENTIAL_FLAGS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lib/potential/influence/potential_products.h"

namespace rutile {

// From --test_quantity, --test_atom, --test_component.
absl::StatusOr<PotentialTestOptions> TestOptionsFromFlags();

// --term_weights: of energy, force and stress, as many as are given; empty: none are.
absl::StatusOr<std::vector<double>> TermWeightsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIAL_FLAGS_H_
