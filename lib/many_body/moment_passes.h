// Products of ManyBodyKernel with the coefficients C, for a block of atoms of one species: vector lanes are channels.
//
// n is the number of atoms, F = [N, Q] their features (N = num_species * num_radial rows of Q = (max_l + 1)^2
// components), and K the number of channels, padded to whole cache lines. The padding of coefficients is 0, so that of
// all results is 0 too. Arrays over channels are 64-byte aligned.
//
//   A [n, Q, K]           moments of channels; bar: derivatives of something by A
//   C [max_l + 1, N, K]   coefficients with the factor of the formula

#ifndef RUTILE_LIB_MANY_BODY_MOMENT_PASSES_H_
#define RUTILE_LIB_MANY_BODY_MOMENT_PASSES_H_

#include <cstdint>

#include "lib/many_body/product_passes.h"

namespace rutile {

// The most atoms in a block. A and its three companions of the second order take 16 kB an atom with 64 channels in
// fp32, so that those of a block stay in the second-level cache.
inline constexpr int kMomentBlock = 16;

struct MomentSizes {
  int max_l;
  int num_rows;  // N
  int channels;  // K
  // N rounded up to whole cache lines, for coefficients whose lanes are rows of the features.
  int padded_rows;
  int num_components() const { return (max_l + 1) * (max_l + 1); }
};

// Computes A = C x. x: [n] pointers to features. C: [max_l + 1, N, K].
void MomentsOfBlock(const MomentSizes& sizes, const float* c, int n, const float* const* x, float* a);
void MomentsOfBlock(const MomentSizes& sizes, const double* c, int n, const double* const* x, double* a);

// Computes x_gradients [n, N, Q] = C^T A_bar, overwritten. c: [max_l + 1, K, padded_rows].
void FeatureSlopesOfBlock(const MomentSizes& sizes, const float* c, int n, const float* bar, float* x_gradients);
void FeatureSlopesOfBlock(const MomentSizes& sizes, const double* c, int n, const double* bar, double* x_gradients);

// Adds to gradients [max_l + 1, N, K] those of C without the factor of the formula: sum over atoms and m of bar x or,
// with tangents, of bar.dot x + bar x_dot. x, x_dot: [n] pointers to features; x_dot is null without tangents.
void AddCoefficientGradients(const MomentSizes& sizes, int n, const float* const* x, const float* const* x_dot,
                             WithTangent<const float> bar, float* gradients);
void AddCoefficientGradients(const MomentSizes& sizes, int n, const double* const* x, const double* const* x_dot,
                             WithTangent<const double> bar, double* gradients);

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_MOMENT_PASSES_H_
