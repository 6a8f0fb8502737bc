// Multiplies the rows of two tall matrices, C = A B^T, where B is packed once and used with many A. For influence, A
// holds the gradients of a tile of training structures and B those of the tests.
//
// A sum over columns is computed in blocks of kProductBlock columns, in the type of the rows, and blocks are added in
// fp64. Each element of C is computed in the same order whatever the shapes of A and B, so that tiles and threads do
// not change the bits.

#ifndef RUTILE_LIB_NETWORK_KERNELS_ROW_PRODUCTS_H_
#define RUTILE_LIB_NETWORK_KERNELS_ROW_PRODUCTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "lib/machine/aligned_buffer.h"

namespace rutile {

inline constexpr int64_t kProductBlock = 256;

// The columns [begin, end).
struct ColumnRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Stores B [rows, columns] as the product reads it: panels of kWidth rows, interleaved column by column; the last panel
// is padded with zero rows. T is float or double.
template <typename T>
class PackedRows {
 public:
  static constexpr int64_t kWidth = 128 / sizeof(T);

  PackedRows() = default;
  // Creates a matrix of zeros.
  PackedRows(int64_t rows, int64_t columns);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // Sets a part of a row from `column` on. Different threads may set rows of different panels at the same time.
  void Set(int64_t row, int64_t column, absl::Span<const T> values);
  // Returns the panel from `column` on; each column has kWidth elements.
  const T* panel(int64_t panel, int64_t column) const { return data_.data() + (panel * columns_ + column) * kWidth; }

 private:
  int64_t rows_ = 0, columns_ = 0;
  AlignedBuffer<T> data_;
};

// Adds sum over k < columns of a[i, k] b[j, first_column + k] to sums[i, j], for i < rows and all rows j of b. a: rows
// of `stride` elements; sums: [rows, b.rows()]. CHECK-fails where columns reach beyond b.
void AddRowProducts(int64_t rows, const float* a, int64_t stride, int64_t columns, const PackedRows<float>& b,
                    int64_t first_column, double* sums);
void AddRowProducts(int64_t rows, const double* a, int64_t stride, int64_t columns, const PackedRows<double>& b,
                    int64_t first_column, double* sums);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNELS_ROW_PRODUCTS_H_
