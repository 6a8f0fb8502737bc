// Products of matrices in fp32 and fp64 on one thread, for shapes that are neither large nor square: 128 queries with
// blocks of a table. Of the factors only panels of the right one are copied; the left one is read where it lies, which
// is what a BLAS spends a tenth of its time on here.
//
// Each number of the result is summed in one order, which sizes alone decide: a part of a product has the bits of the
// whole one's.

#ifndef RUTILE_LIB_MATRIX_DENSE_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_DENSE_PRODUCTS_H_

#include <cstdint>

#include "lib/matrix/matrix_view.h"

namespace rutile {

// Whether this machine has the vectors (AVX2, AVX-512) that this is written for; it works on all.
bool DenseProductsAreFast();

// out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
template <typename T>
void MultiplyDense(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride);

extern template void MultiplyDense(const MatrixView<float>&, const MatrixView<float>&, bool, float*, int64_t);
extern template void MultiplyDense(const MatrixView<double>&, const MatrixView<double>&, bool, double*, int64_t);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_DENSE_PRODUCTS_H_
