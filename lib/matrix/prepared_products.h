// Multiplies factors that are used more than once, such as weights for all rows of a batch. With AMX a factor is packed
// into tiles beforehand, which takes as long as a product with 100 rows; on other machines it is read in place.
//
// The precisions are those of matrix_products.h: fp64, fp32 with factors of three numbers of bfloat16 on AMX, or fp32
// with factors rounded to bfloat16. A row has the same bits whatever other rows are multiplied.
//
//   PreparedProducts<float> products;
//   PreparedFactor<float> x, w;
//   products.Prepare({weights, k, n, n}, FactorSide::kRight, &w);  // once
//   products.Prepare({batch, m, k, k}, FactorSide::kLeft, &x);
//   products.Multiply(x, w, /*add=*/false, out, /*stride=*/n);

#ifndef RUTILE_LIB_MATRIX_PREPARED_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_PREPARED_PRODUCTS_H_

#include <cstdint>
#include <optional>

#include "lib/machine/aligned_buffer.h"
#include "lib/matrix/bf16/bf16_products.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

// Position of a factor: left [m, k] or right [k, n].
enum class FactorSide { kLeft, kRight };

// A prepared factor. Its memory grows to the largest factor so far, and is reused.
template <typename T>
struct PreparedFactor {
  MatrixView<T> matrix;  // must stay unchanged if nothing is packed
  int parts = 0;         // numbers of bfloat16 per number; 0: not packed
  AlignedBuffer<uint32_t> tiles;
};

// Prepares and multiplies factors. One thread at a time may use an object.
template <typename T>
class PreparedProducts {
 public:
  // form: must be one of this machine's (CHECK-fails otherwise), and decides whether factors are packed; forms other
  // than the first are for tests.
  explicit PreparedProducts(Bf16Form form = Bf16Forms().front());

  // Turns rounding of factors to bfloat16 on or off for later products; off by default. CHECK-fails for double.
  void SetRounding(bool on);

  // Allocates memory for factors of at most `height` rows and `width` columns.
  void Reserve(int64_t height, int64_t width, PreparedFactor<T>* factor) const;
  // Packs a factor, or refers to it where nothing is packed.
  void Prepare(const MatrixView<T>& matrix, FactorSide side, PreparedFactor<T>* factor) const;

  // Computes out [m, n], rows `stride` apart, = left [m, k] right [k, n], or += with `add`. CHECK-fails if sizes
  // disagree, or a factor was prepared with another rounding.
  void Multiply(const PreparedFactor<T>& left, const PreparedFactor<T>& right, bool add, T* out, int64_t stride);

 private:
  int Parts() const;

  const Bf16Form form_;
  bool rounding_ = false;
  std::optional<Bf16Products> rounded_;  // used if rounded factors are not packed beforehand
};

extern template class PreparedProducts<float>;
extern template class PreparedProducts<double>;

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_PREPARED_PRODUCTS_H_
