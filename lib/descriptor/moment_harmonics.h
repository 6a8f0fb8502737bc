// Real spherical harmonics of a unit vector, by their definition.
//
// With y as the polar axis, P_l^(m) the m-th derivative of the Legendre polynomial and m > 0:
//
//   Y_l0  = sqrt(2l + 1) P_l(y)
//   Y_lm  = sqrt(2 (2l + 1) (l - m)! / (l + m)!) P_l^(m)(y) Re (z + ix)^m
//   Y_l-m = the same with Im
//
// This is the "component" normalization, sum over m of Y_lm^2 = 2l + 1, with order and signs of e3nn 0.2 and later (M.
// Geiger, T. Smidt, arXiv:2207.09453): Y_1 = sqrt(3) (x, y, z). Polynomials have no pole, so their derivatives exist
// for every direction.

#ifndef RUTILE_LIB_DESCRIPTOR_MOMENT_HARMONICS_H_
#define RUTILE_LIB_DESCRIPTOR_MOMENT_HARMONICS_H_

#include "absl/types/span.h"

namespace rutile {

// Returns the factor of Y_lm before P_l^(|m|), for 0 <= |m| <= l.
double HarmonicNorm(int l, int m);

// Computes all harmonics up to degree max_l. unit: [3], of length 1. value: [(max_l + 1)^2], with l m at l l + l + m.
// gradient: [(max_l + 1)^2, 3], the derivative of Y(v / |v|) by v where |v| = 1, which is orthogonal to unit, or empty
// to compute none. Both are overwritten. CHECK-fails when lengths disagree.
void RealHarmonics(int max_l, absl::Span<const double> unit, absl::Span<double> value, absl::Span<double> gradient);

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_MOMENT_HARMONICS_H_
