// Random matrices and their elements, for tests of products.

#ifndef RUTILE_LIB_MATRIX_MATRIX_TESTING_H_
#define RUTILE_LIB_MATRIX_MATRIX_TESTING_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/matrix/matrix_view.h"

namespace rutile {

// Returns random numbers, different for each purpose.
template <typename T = float>
std::vector<T> Values(int64_t n, const char* purpose) {
  RandomStream stream(1, purpose, n);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(stream.Normal()));
  return values;
}

// Returns a view of height x width after transposition, whose rows are not adjacent.
template <typename T>
MatrixView<T> View(const std::vector<T>& values, int64_t height, int64_t width, bool transposed) {
  MatrixView<T> view = {values.data(), transposed ? width : height, transposed ? height : width, 0, transposed};
  view.stride = view.columns + 3;
  return view;
}

template <typename T>
T Element(const MatrixView<T>& m, int64_t row, int64_t column) {
  return m.transposed ? m.data[column * m.stride + row] : m.data[row * m.stride + column];
}

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_MATRIX_TESTING_H_
