// The inner loops of a MACE model over pairs of atoms and nodes of networks. Highway compiles them for each instruction
// set.
//
// K is the number of channels in memory, a multiple of 8 that is padded with zeros; arrays [., K] are 64-byte aligned.

#ifndef RUTILE_LIB_MACE_PAIR_PASSES_H_
#define RUTILE_LIB_MACE_PAIR_PASSES_H_

#include <cstdint>

namespace rutile {

// Replaces x by silu(x) = x / (1 + e^-x) and, unless tangent is null, multiplies tangent by the derivative. Both are
// [n]; a number has the same bits at any place.
void SiluInPlace(int64_t n, double* x, double* tangent);

// Computes value[f] = sum_q value_weight[q] knots[q n + f] over q = 0 .. 5 for f = 0 .. n - 1 and, unless slope is
// null, slope[f] with slope_weight. n: a multiple of 8; knots: 64-byte aligned.
void SplineRow(int64_t n, const double* knots, const double* value_weight, const double* slope_weight, double* value,
               double* slope);

// Adds R_lk u_k Y_lm to a [(max_l + 1)^2, K]. radial: [max_l + 1, K]; u: [K]; y: [(max_l + 1)^2].
void AddPair(int max_l, int64_t channels, const double* radial, const double* u, const double* y, double* a);

// With abar = dE/dA [(max_l + 1)^2, K], computes dE/dY_lm = sum_k R_lk u_k abar_lmk into y_bar [(max_l + 1)^2] and
// returns the part of dE/dr that R has, sum R'_lk u_k abar_lmk Y_lm. Unless u_bar is null, adds dE/du to it, [K].
double PairSlopes(int max_l, int64_t channels, const double* radial, const double* radial_slope, const double* u,
                  const double* y, const double* abar, double* y_bar, double* u_bar);

}  // namespace rutile

#endif  // RUTILE_LIB_MACE_PAIR_PASSES_H_
