// EK-FAC by its definition, as dense matrices, and what it is compared with.

#ifndef RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_EK_FAC_TESTING_H_
#define RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_EK_FAC_TESTING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/potential/influence/curvature/ek_fac.h"

namespace rutile {

// Returns S^-1 [sum over ij of f(lambda_ij) (u_i x v_j) (u_i x v_j)^T] S^-1 [C, C] of rows [R, C], whose sum of squares
// is H, for S^-1 = D^power; with f(l) = l + 1 and power 1/2 it is H + D by EK-FAC, with f(l) = 1 / (l + 1) and power
// -1/2 its inverse. Each eigenvalue is the sum over rows of the squares of their products with u_i x v_j.
std::vector<double> DenseEkFac(const std::vector<double>& rows, const std::vector<KroneckerBlock>& blocks,
                               const std::vector<double>& damping, double power,
                               const std::function<double(double)>& f);

// Returns the sum of squares of rows, without what different blocks have in common.
std::vector<double> DenseBlocks(const std::vector<double>& rows, const std::vector<KroneckerBlock>& blocks,
                                int64_t size);

// Returns K-FAC from the same factors: B x A / tr(A) in each block, whose trace is that of the block.
std::vector<double> DenseKFac(const std::vector<double>& rows, const std::vector<KroneckerBlock>& blocks, int64_t size);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_INFLUENCE_CURVATURE_EK_FAC_TESTING_H_
