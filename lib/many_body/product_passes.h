// The polynomials of ManyBodyKernel and their derivatives, for a block of atoms of one species: vector lanes are
// channels.
//
// n is the number of atoms, K that of channels, padded to whole cache lines, Q = (max_l + 1)^2 that of components, and
// P that of products. The table's stride is K. Arrays are 64-byte aligned. The sweeps are written once for numbers with
// and without tangents.

#ifndef RUTILE_LIB_MANY_BODY_PRODUCT_PASSES_H_
#define RUTILE_LIB_MANY_BODY_PRODUCT_PASSES_H_

#include "lib/many_body/product_table.h"

namespace rutile {

// A number and, in the second order, its tangent, which is null in the first.
template <typename T>
struct WithTangent {
  T* value;
  T* dot;
};

// Computes M = sum_p w_p I_p(A) [n, K] from w [P, K] and A [n, Q, K] and, if a.dot is given, the derivative of M along
// a.dot.
void ProductsOfBlock(const ProductTable<float>& table, int channels, const float* w, int n, WithTangent<const float> a,
                     WithTangent<float> m);
void ProductsOfBlock(const ProductTable<double>& table, int channels, const double* w, int n,
                     WithTangent<const double> a, WithTangent<double> m);

// Computes bar = d sum(seed M) / d A and adds d sum(seed M) / d w to w_gradients [P, K], which may be null. seed: [n,
// K]. With tangents (all of them or none): bar.dot is the derivative of bar along (a.dot, seed.dot), and the derivative
// along them of d sum(seed M) / d w is added to w_gradients instead.
void ProductSlopesOfBlock(const ProductTable<float>& table, int channels, const float* w, int n,
                          WithTangent<const float> a, WithTangent<const float> seed, WithTangent<float> bar,
                          float* w_gradients);
void ProductSlopesOfBlock(const ProductTable<double>& table, int channels, const double* w, int n,
                          WithTangent<const double> a, WithTangent<const double> seed, WithTangent<double> bar,
                          double* w_gradients);

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_PRODUCT_PASSES_H_
