// Products of fp32 matrices on one thread, for shapes that are neither large nor square: 128 queries with blocks of a
// table.
//
// Each number of the result is summed in one order, which sizes alone decide: a part of a product has the bits of the
// whole one's.

#ifndef RUTILE_LIB_KG_F32_PRODUCTS_H_
#define RUTILE_LIB_KG_F32_PRODUCTS_H_

#include <cstdint>

#include "lib/kg/matrix_view.h"

namespace rutile {

// Whether this machine has the vectors (AVX2, AVX-512) that this is written for; it works on all.
bool F32ProductsAreFast();

// out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
void MultiplyF32(const MatrixView<float>& a, const MatrixView<float>& b, bool add, float* out, int64_t stride);

}  // namespace rutile

#endif  // RUTILE_LIB_KG_F32_PRODUCTS_H_
