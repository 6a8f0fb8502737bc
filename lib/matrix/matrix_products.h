// Multiplies matrices in plain memory in fp32, fp64 and mixed precision, on any number of threads.
//
// With AMX, fp32 products with unrounded factors use three numbers of bfloat16 per factor, which keep all its bits and
// take two thirds of the time of multiply-adds; products with few columns or terms use dense_products.h. A row has the
// same bits whatever other rows are multiplied.
//
//   MatrixProducts<float> products(FactorRounding::kBf16, &pool);
//   products.SetRounding(true);
//   products.Multiply({a, m, k, k}, {b, k, n, n}, /*add=*/false, out, /*stride=*/n);

#ifndef RUTILE_LIB_MATRIX_MATRIX_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_MATRIX_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "lib/machine/parallel_for.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

// Products in one precision. One thread at a time may use an object. The pool's threads share the work, with the same
// bits for any number of them.
template <typename T>
class MatrixProducts {
 public:
  // factors: how they may be rounded; CHECK-fails for double unless kNone. pool: not owned; null: one thread.
  explicit MatrixProducts(FactorRounding factors, ThreadPool* pool = nullptr);

  // Turns the rounding of factors on or off for later products; off by default.
  void SetRounding(bool on) { rounding_ = on; }

  // Computes out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails if sizes disagree.
  void Multiply(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride);

 private:
  ThreadPool* const pool_;
  std::vector<Bf16Products> bf16_;   // one per thread; empty if nothing may be rounded
  std::vector<Bf16Products> exact_;  // one per thread, three parts; empty if multiply-adds are faster
  bool rounding_ = false;
};

extern template class MatrixProducts<float>;
extern template class MatrixProducts<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_MATRIX_PRODUCTS_H_
