// Products of the rows of two tall matrices, C = A B^T, where B stays for many A: gradients of a tile of training
// structures with those of the tests that are held.
//
// A sum over columns is made in blocks of kProductBlock columns, in the type of the rows, and blocks are added in fp64.
// Each element of C is computed in the same order whatever the shape of A and B: tiles and threads do not change the
// bits.

#ifndef RUTILE_LIB_NETWORK_ROW_PRODUCTS_H_
#define RUTILE_LIB_NETWORK_ROW_PRODUCTS_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace rutile {

inline constexpr int64_t kProductBlock = 256;

// Columns [begin, end).
struct ColumnRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// B [rows, columns], its rows interleaved as the product reads them: panels of kWidth rows, of each column one after
// the other; the last panel is filled with zeros. T is float or double.
template <typename T>
class PackedRows {
 public:
  static constexpr int64_t kWidth = 128 / sizeof(T);

  PackedRows() = default;
  // All zero.
  PackedRows(int64_t rows, int64_t columns);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // Sets a part of a row from `column` on. Rows of different panels may be set by different threads at once.
  void Set(int64_t row, int64_t column, absl::Span<const T> values);
  // [kWidth] each from `column` on.
  const T* panel(int64_t panel, int64_t column) const { return data_.get() + (panel * columns_ + column) * kWidth; }

 private:
  struct Free {
    void operator()(T* p) const;
  };
  int64_t rows_ = 0, columns_ = 0;
  std::unique_ptr<T[], Free> data_;
};

// sums[i, j] += sum over k < columns of a[i, k] b[j, first_column + k], for i < rows and all rows j of b. a: rows of
// `stride` numbers; sums: [rows, b.rows()]. CHECK-fails where columns reach beyond b.
void AddRowProducts(int64_t rows, const float* a, int64_t stride, int64_t columns, const PackedRows<float>& b,
                    int64_t first_column, double* sums);
void AddRowProducts(int64_t rows, const double* a, int64_t stride, int64_t columns, const PackedRows<double>& b,
                    int64_t first_column, double* sums);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_ROW_PRODUCTS_H_
