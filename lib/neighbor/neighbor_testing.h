// Structures and comparisons for the tests of neighbor searches.

#ifndef RUTILE_LIB_NEIGHBOR_NEIGHBOR_TESTING_H_
#define RUTILE_LIB_NEIGHBOR_NEIGHBOR_TESTING_H_

#include <array>
#include <vector>

#include "lib/base/random.h"
#include "lib/neighbor/neighbor_list.h"
#include "lib/structure/structure.h"

namespace rutile {

constexpr std::array<bool, 3> kPeriodic = {true, true, true};
constexpr std::array<bool, 3> kIsolated = {false, false, false};

Structure MakeStructure(const std::vector<double>& position, const Matrix3& cell, const std::array<bool, 3>& pbc);

// Returns `num_atoms` atoms at random fractional coordinates in [-outside, 1 + outside) of a cell, no two of them
// (images included) nearer than 0.5 Angstrom. Directions that are not periodic are filled in the same way.
Structure RandomStructure(int num_atoms, const Matrix3& cell, const std::array<bool, 3>& pbc, double outside,
                          RandomStream* random);

// Expects two lists to be equal bit for bit.
void ExpectEqual(const NeighborList& found, const NeighborList& expected);

}  // namespace rutile

#endif  // RUTILE_LIB_NEIGHBOR_NEIGHBOR_TESTING_H_
