// Products of fp64 matrices on one thread: f32_products.h in twice the digits, and with the same promise of bits.

#ifndef RUTILE_LIB_KG_F64_PRODUCTS_H_
#define RUTILE_LIB_KG_F64_PRODUCTS_H_

#include <cstdint>

#include "lib/kg/matrix_view.h"

namespace rutile {

// out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
void MultiplyF64(const MatrixView<double>& a, const MatrixView<double>& b, bool add, double* out, int64_t stride);

}  // namespace rutile

#endif  // RUTILE_LIB_KG_F64_PRODUCTS_H_
