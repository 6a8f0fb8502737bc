// Makes potentials for tests.

#ifndef RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_TESTING_H_
#define RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_TESTING_H_

#include <cstdint>

#include "lib/potential/model/golden_potential_testing.h"
#include "lib/potential/model/potential_file.h"

namespace rutile {

// Returns the fixed potential of a golden case, in fp64, with atomic energies 0.
Potential GoldenPotential(const GoldenCase& golden);

// Returns a small potential of Ti and O in fp64, with a radial cutoff of 4 and an angular one of 3 Angstrom, random
// weights and no feature range.
Potential SmallTiO2Potential(uint64_t seed);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_MODEL_POTENTIAL_TESTING_H_
