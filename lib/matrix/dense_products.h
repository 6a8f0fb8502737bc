// Multiplies matrices in fp32 and fp64 on one thread, for shapes that are neither large nor square, such as 128 queries
// with blocks of a table. Only panels of the right factor are copied; the left one is read in place, whose copying
// takes a BLAS a tenth of its time here.
//
// Each number of the result is summed in one order, which depends only on the sizes: a part of a product has the bits
// of the whole one.

#ifndef RUTILE_LIB_MATRIX_DENSE_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_DENSE_PRODUCTS_H_

#include <cstdint>

#include "lib/matrix/matrix_view.h"

namespace rutile {

// True if this machine has the vectors (AVX2, AVX-512) for which the code is written; it works on all machines.
bool DenseProductsAreFast();

// Computes out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails if sizes disagree.
template <typename T>
void MultiplyDense(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride);

extern template void MultiplyDense(const MatrixView<float>&, const MatrixView<float>&, bool, float*, int64_t);
extern template void MultiplyDense(const MatrixView<double>&, const MatrixView<double>&, bool, double*, int64_t);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_DENSE_PRODUCTS_H_
