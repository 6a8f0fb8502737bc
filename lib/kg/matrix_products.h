// Products of matrices that lie in plain memory, by LibTorch (BLAS): nothing here allocates but LibTorch's own headers
// of tensors.

#ifndef RUTILE_LIB_KG_MATRIX_PRODUCTS_H_
#define RUTILE_LIB_KG_MATRIX_PRODUCTS_H_

#include <cstdint>

namespace rutile {

// [rows, columns], row-major, rows `stride` numbers apart; or its transpose.
template <typename T>
struct MatrixView {
  const T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
  bool transposed = false;

  MatrixView Transposed() const { return {data, rows, columns, stride, !transposed}; }
};

// out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
template <typename T>
void Multiply(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride);

extern template void Multiply(const MatrixView<float>&, const MatrixView<float>&, bool, float*, int64_t);
extern template void Multiply(const MatrixView<double>&, const MatrixView<double>&, bool, double*, int64_t);

}  // namespace rutile

#endif  // RUTILE_LIB_KG_MATRIX_PRODUCTS_H_
