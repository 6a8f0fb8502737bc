// Vectors of channels, bounded in length, and what follows from them: what atoms of a potential of two layers send
// (layered_kernel.h).
//
//   a = A / sqrt(1 + |A|^2),    |a| < 1
//
// n is the number of atoms, K that of channels, and arrays are [n, 3, K]: x, y and z of the vector of each channel.

#ifndef RUTILE_LIB_MANY_BODY_BOUNDED_VECTORS_H_
#define RUTILE_LIB_MANY_BODY_BOUNDED_VECTORS_H_

#include <cstdint>

#include "lib/many_body/product_passes.h"

namespace rutile {

// A of atom i begins at A + i * stride, so that it may lie among other moments; a is dense.
struct VectorsOfAtoms {
  int64_t num_atoms, channels, stride;
};

// Computes a and, if moments.dot is given, its derivative along it. With f = 1 / sqrt(1 + |A|^2),
//   adot = f Adot - f^3 (A . Adot) A.
template <typename T>
void BoundVectors(const VectorsOfAtoms& sizes, WithTangent<const T> moments, WithTangent<T> bounded);

// Computes slopes = d(sum of received a) / dA, [n, 3, K], and, if moments.dot is given, the derivative of slopes along
// (moments.dot, received.dot).
template <typename T>
void BoundVectorSlopes(const VectorsOfAtoms& sizes, WithTangent<const T> moments, WithTangent<const T> received,
                       WithTangent<T> slopes);

}  // namespace rutile

#endif  // RUTILE_LIB_MANY_BODY_BOUNDED_VECTORS_H_
