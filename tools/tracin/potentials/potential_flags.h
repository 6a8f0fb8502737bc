// Flags of tracin that apply to structures, as options of gradient products.

#ifndef RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_FLAGS_H_
#define RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/potential/influence/potential_products.h"
#include "tools/tracin/tracin_flags.h"

namespace rutile {

// Reads --test_quantity, --test_atom and --test_component. automatic: the quantity that "auto" stands for.
absl::StatusOr<PotentialTestOptions> TestOptionsFromFlags(const std::string& automatic);

// Refuses flags that have no effect on structures in this mode. has_model: false with --merge, which computes nothing.
absl::Status CheckPotentialFlags(const TracinFlags& flags, bool has_model);

// Returns the weights of energy, force and stress in --term_weights, as many as are given; empty without the flag.
absl::StatusOr<std::vector<double>> TermWeightsFromFlags();

}  // namespace rutile

#endif  // RUTILE_TOOLS_TRACIN_POTENTIALS_POTENTIAL_FLAGS_H_
