// The invariant polynomials of moments that a many-body potential is made of, and their derivatives as a table.
//
// With the moments A_lm of one channel, in the basis of lib/descriptor/moment_harmonics.h:
//
//   degree 1   A_00
//   degree 2   sum_m A_lm^2 / sqrt(2 l + 1)                            for each l
//   degree 3   sum w_(m1 m2 m3) A_(l1 m1) A_(l2 m2) A_(l3 m3)          for l1 <= l2 <= l3 that satisfy the triangle
//                                                                      inequality, with an even sum
//
// where w is the Gaunt integral of three harmonics, divided by the norm of all its components: up to its sign the 3j
// symbol in the real basis. Products of even sum suffice: those of odd sum change sign under reflections (R. Drautz,
// Phys. Rev. B 99, 014104 (2019); I. Batatia et al., MACE, NeurIPS 2022, Eq. 10).

#ifndef RUTILE_LIB_MANY_BODY_PRODUCT_TABLE_H_
#define RUTILE_LIB_MANY_BODY_PRODUCT_TABLE_H_

#include <cstdint>
#include <vector>

namespace rutile {

struct CubicProduct {
  int l1, l2, l3;
};

// Returns the products of degree 3, in the order of their parameters: l1 slowest, l3 fastest.
std::vector<CubicProduct> CubicProducts(int max_l);

// Returns w [2 l1 + 1, 2 l2 + 1, 2 l3 + 1], by a quadrature that is exact up to rounding.
std::vector<double> CubicWeights(const CubicProduct& product);

// The derivatives of the products of degree 3, which also give their values: the derivative by A_a is a sum of terms
// weight A_i A_j, and a product that is linear in the components of one l is the sum of those times the derivatives by
// them. T is float or double.
template <typename T>
struct ProductTable {
  // Components are multiplied by `stride`, the distance between the rows of a caller's A.
  ProductTable(int max_l, int64_t stride);

  struct Term {
    int32_t i, j;
    T weight;
  };
  // The derivative by component `a` of one product, which has the terms [begin, end).
  struct Group {
    int32_t a, begin, end;
    T value_scale;  // the product is the sum of value_scale A_a derivative_a; 0 in groups that it does not need
  };
  struct Product {
    int32_t begin, end;  // groups
  };
  int max_l;
  std::vector<Product> products;  // parallel to CubicProducts(max_l)
  std::vector<Group> groups;
  std::vector<Term> terms;
};

extern template struct ProductTable<float>;
extern template struct ProductTable<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_PRODUCT_TABLE_H_
