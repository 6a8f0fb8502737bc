// Products of factors that serve more than once, as weights do for all rows of a batch: with AMX a factor is packed
// into tiles beforehand, which takes as long as a product with 100 rows. Elsewhere it is read where it lies.
//
// Numbers are those of matrix_products.h: fp64, fp32 whose factors are three numbers of bfloat16 each on AMX, or fp32
// whose factors are rounded to bfloat16. A row has the same bits whatever rows are beside it.

#ifndef RUTILE_LIB_MATRIX_PREPARED_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_PREPARED_PRODUCTS_H_

#include <cstdint>
#include <optional>

#include "lib/matrix/aligned_words.h"
#include "lib/matrix/bf16_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

// The left factor [m, k] or the right one [k, n] of a product.
enum class FactorSide { kLeft, kRight };

// Its memory grows to the largest factor it held, and stays.
template <typename T>
struct PreparedFactor {
  MatrixView<T> matrix;  // must stay as it is where nothing is packed
  int parts = 0;         // numbers of bfloat16 that stand for one; 0: not packed
  AlignedWords tiles;
};

// One thread at a time may use an object.
template <typename T>
class PreparedProducts {
 public:
  // form: of this machine (CHECK-fails else), which decides whether factors are packed; others than the first are for
  // tests.
  explicit PreparedProducts(Bf16Form form = Bf16Forms().front());

  // Whether factors of the products from now on are rounded to bfloat16; at first they are not. CHECK-fails for double.
  void SetRounding(bool on);

  // Takes the memory for factors of at most so many rows and columns.
  void Reserve(int64_t height, int64_t width, PreparedFactor<T>* factor) const;
  void Prepare(const MatrixView<T>& matrix, FactorSide side, PreparedFactor<T>* factor) const;

  // out [m, n], rows `stride` apart, = left [m, k] right [k, n], or += with `add`. CHECK-fails when sizes disagree, and
  // for a factor that was prepared with another rounding.
  void Multiply(const PreparedFactor<T>& left, const PreparedFactor<T>& right, bool add, T* out, int64_t stride);

 private:
  int Parts() const;

  const Bf16Form form_;
  bool rounding_ = false;
  std::optional<Bf16Products> rounded_;  // where rounded factors are not packed beforehand
};

extern template class PreparedProducts<float>;
extern template class PreparedProducts<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_PREPARED_PRODUCTS_H_
