// A view of a matrix in memory owned by someone else.

#ifndef RUTILE_LIB_MATRIX_MATRIX_VIEW_H_
#define RUTILE_LIB_MATRIX_MATRIX_VIEW_H_

#include <cstdint>

namespace rutile {

// The matrix [rows, columns], row-major, rows `stride` numbers apart; or its transpose.
template <typename T>
struct MatrixView {
  const T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
  bool transposed = false;

  MatrixView Transposed() const { return {data, rows, columns, stride, !transposed}; }
  // Height and width of the matrix after transposition.
  int64_t height() const { return transposed ? columns : rows; }
  int64_t width() const { return transposed ? rows : columns; }
  const T* At(int64_t row, int64_t column) const {
    return data + (transposed ? column * stride + row : row * stride + column);
  }
  // Returns the rows (after transposition) in [begin, end).
  MatrixView Rows(int64_t begin, int64_t end) const {
    return transposed ? MatrixView{data + begin, rows, end - begin, stride, true}
                      : MatrixView{data + begin * stride, end - begin, columns, stride, false};
  }
  MatrixView Columns(int64_t begin, int64_t end) const { return Transposed().Rows(begin, end).Transposed(); }
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_MATRIX_VIEW_H_
