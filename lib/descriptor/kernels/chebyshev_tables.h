// Coefficients, thresholds and layouts that the fast kernels of the Chebyshev descriptor share; they depend on the
// options alone.
//
// The angular sum can be computed without triplets. T_n is a combination of Legendre polynomials, T_n = sum_l t_nl P_l,
// and P_l of the angle between two unit vectors is, by the addition theorem, a sum of products of real spherical
// harmonics of either:
//
//   sum_{j,k} c_j c_k P_l(cos theta_jk) = sum_m a_lm B_lm^2,   B_lm = sum_j c_j q_lm(z_j) { Re | Im } (x_j + i y_j)^m
//
// Here q_lm is the m-th derivative of P_l with its leading coefficient set to 2^(l-m): q_mm = 1, q_{m+1,m} = 2z,
// q_{l+1,m} = 2z q_lm - b_lm q_{l-1,m} with b_lm = 4 (l^2 - m^2) / (4 l^2 - 1). Nothing in it cancels, at any order and
// in any precision. The sum over pairs j < k is half of what is left when the terms j = k, sum_j c_j^2, are taken away.
// Source: DLMF 14.30.9 (addition theorem), 18.9.1 (recurrence of ultraspherical polynomials).

#ifndef RUTILE_LIB_DESCRIPTOR_KERNELS_CHEBYSHEV_TABLES_H_
#define RUTILE_LIB_DESCRIPTOR_KERNELS_CHEBYSHEV_TABLES_H_

#include <vector>

#include "lib/descriptor/chebyshev_options.h"

namespace rutile {

// Returns b_lm above.
constexpr double HarmonicRecurrence(int l, int m) { return 4.0 * (l * l - m * m) / (4.0 * l * l - 1); }

// Returns t_nl, row-major [order + 1, order + 1]: T_n = sum_l t_nl P_l.
std::vector<double> ChebyshevInLegendre(int order);

// Returns a_lm above, for l <= 32.
double HarmonicWeight(int l, int m);

// Returns the largest double whose correctly rounded square root is at most r, so that r_ij <= r exactly if r_ij^2 is
// at most this value.
double LargestSquare(double r);

// The tables for one set of options. T, double or float, is the type of the arithmetic.
template <typename T>
struct ChebyshevTables {
  ChebyshevTables(const ChebyshevOptions& options, AngularMethod method);

  int rad_order, ang_order;
  AngularMethod method;
  std::vector<T> spins;  // [species]
  int num_features;

  // Squared distances, in fp64 even if T is float: radial neighbors have min_square < r^2 <= rad_square, angular ones
  // min_square < r^2 <= ang_square.
  double min_square, rad_square, ang_square;
  T rad_scale;           // 4 / rad_cutoff: 2x = rad_scale r - 2 with x = 2 r / rad_cutoff - 1
  T rad_inverse_square;  // 1 / rad_cutoff^2
  T ang_inverse_square;  // 1 / ang_cutoff^2
  T rad_padding;         // an r^2 beyond rad_cutoff
  T ang_padding;         // a distance beyond ang_cutoff
  T lane_padding;        // a distance beyond both

  // Coefficients of A_n + sum_j c_j^2 / 2 = sum_b angular[b * angular_stride + n] B_b^2. Here b counts the harmonics in
  // the kernel's order: for m = 0 .. ang_order, the real parts of l = m .. ang_order, then (m > 0) the imaginary ones.
  int num_harmonics;  // (ang_order + 1)^2
  int angular_stride;
  std::vector<T> angular;
  // The factors of angular[b, n] = weight[b] legendre[n * (ang_order + 1) + l] with the l of b: a_lm / 2 and t_nl.
  std::vector<T> weight, legendre;
  std::vector<T> recurrence;  // [ang_order + 1, ang_order + 1] b_lm at m * (ang_order + 1) + l
};

// The number of moments that a group of atoms stores in each lane; 0 if angular sums run over triplets.
template <typename T>
int NumMoments(const ChebyshevTables<T>& tables) {
  if (tables.method == AngularMethod::kTriplets) return 0;
  return tables.num_harmonics * (tables.spins.size() > 1 ? 2 : 1);
}

extern template struct ChebyshevTables<double>;
extern template struct ChebyshevTables<float>;

}  // namespace rutile

#endif  // RUTILE_LIB_DESCRIPTOR_KERNELS_CHEBYSHEV_TABLES_H_
