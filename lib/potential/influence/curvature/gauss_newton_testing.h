// What tests of all forms of the curvature share: a damping, and the comparison of halves and of threads.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_GAUSS_NEWTON_TESTING_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_GAUSS_NEWTON_TESTING_H_

#include <cstdint>
#include <vector>

#include "lib/potential/influence/curvature/gauss_newton.h"

namespace rutile {

// Returns positive numbers [p] around 0.01, no two of them equal.
std::vector<double> UnevenDamping(int64_t p);

// Expects that v^T K w is the product of the halves of v and w to rounding, and that two has the bits of one. Both are
// made with the same options; two may be made with more threads.
void ExpectHalvesAndEqualBits(const GaussNewton& one, const GaussNewton& two);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_GAUSS_NEWTON_TESTING_H_
