// Computes dot products of single rows.

#ifndef RUTILE_LIB_MATRIX_ROW_DOT_H_
#define RUTILE_LIB_MATRIX_ROW_DOT_H_

#include <cstdint>

namespace rutile {

// Returns the sum over i < n of a[i] b[i] in T, in an order that depends on the machine's vectors. Defined for float
// and double.
template <typename T>
T RowDot(const T* a, const T* b, int64_t n);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_ROW_DOT_H_
