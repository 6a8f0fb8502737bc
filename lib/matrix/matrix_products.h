// Products of matrices that lie in plain memory: in fp32, fp64 and mixed precision, by any number of threads.
//
// With AMX, fp32 products whose factors are not to be rounded are those of three numbers of bfloat16 each, which keep
// all of a factor and take two thirds of the time of multiply-adds; those with few columns or terms are
// dense_products.h's. A row has the same bits whatever rows are beside it.

#ifndef RUTILE_LIB_MATRIX_MATRIX_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_MATRIX_PRODUCTS_H_

#include <cstdint>
#include <vector>

#include "lib/base/parallel_for.h"
#include "lib/matrix/bf16_products.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

// One thread at a time may use an object. The pool's threads share the work, with the same bits for any number of them.
template <typename T>
class MatrixProducts {
 public:
  // factors: how they may be rounded; CHECK-fails for double. pool: not owned; null: one thread.
  explicit MatrixProducts(FactorRounding factors, ThreadPool* pool = nullptr);

  // Whether they are, from now on. At first they are not.
  void SetRounding(bool on) { rounding_ = on; }

  // out [m, n], rows `stride` apart, = a [m, k] b [k, n], or += with `add`. CHECK-fails when sizes disagree.
  void Multiply(const MatrixView<T>& a, const MatrixView<T>& b, bool add, T* out, int64_t stride);

 private:
  ThreadPool* const pool_;
  std::vector<Bf16Products> bf16_;   // of each thread; empty where nothing may be rounded
  std::vector<Bf16Products> exact_;  // of each thread, in three parts; empty where multiply-adds are faster
  bool rounding_ = false;
};

extern template class MatrixProducts<float>;
extern template class MatrixProducts<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_MATRIX_PRODUCTS_H_
