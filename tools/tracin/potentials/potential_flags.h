// Flags of tracin that apply to structures, as options of gradient products.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/potential/influence/potential_products.h"

namespace rutile {

// Reads --test_quantity, --test_atom and --test_component. automatic: the quantity that "auto" stands for.
absl::StatusOr<PotentialTestOptions> TestOptionsFromFlags(const std::string& automatic);

// Returns the weights of energy, force and stress in --term_weights, as many as are given; empty without the flag.
absl::StatusOr<std::vector<double>> TermWeightsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_FLAGS_H_
