// Products of matrices that lie in plain memory: LibTorch's (BLAS), or in mixed precision our own.

#ifndef RUTILE_LIB_KG_MATRIX_PRODUCTS_H_
#define RUTILE_LIB_KG_MATRIX_PRODUCTS_H_

#include <cstdint>
#include <optional>

#include "lib/kg/bf16_products.h"
#include "lib/kg/matrix_view.h"

namespace rutile {

// One thread at a time; BLAS may use more.
template <typename T>
class MatrixProducts {
 public:
  // bf16: factors may be rounded to bfloat16 (bf16_products.h); CHECK-fails for double.
  explicit MatrixProducts(bool bf16);

  // Whether they are, from now on, where the constructor was told so. At first they are not.
  void SetRounding(bool on) { rounding_ = on; }

  // out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
  void Multiply(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride);

 private:
  std::optional<Bf16Products> bf16_;
  bool rounding_ = false;
};

extern template class MatrixProducts<float>;
extern template class MatrixProducts<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_KG_MATRIX_PRODUCTS_H_
