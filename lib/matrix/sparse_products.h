// Multiplies with a left factor in which many numbers are exactly 0, as after a relu, which saves half of the work.
//
// Sums follow the order of the depth; the order does not depend on other rows, so a row's result always has the same
// bits.

#ifndef RUTILE_LIB_MATRIX_SPARSE_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_SPARSE_PRODUCTS_H_

#include <cstdint>
#include <vector>

namespace rutile {

// Number of columns in a panel of MultiplySparseRows.
template <typename T>
int64_t SparsePanelColumns();

// A matrix as groups of rows with zeros at the same places.
template <typename T>
struct SparseRows {
  struct Group {
    int64_t first_row, rows;
    int64_t begin, end;  // range of the group's places in `place`
    int64_t values;      // offset of its values: [rows, end - begin]
  };
  std::vector<Group> groups;
  std::vector<int32_t> place;  // places at which a row is not 0, ascending
  std::vector<T> value;

  void Clear();
  // Appends a group of `rows` rows of length n, `stride` apart; only places at which mask [n] is positive are stored.
  void Add(const T* mask, const T* row, int64_t rows, int64_t n, int64_t stride);
};

// Packs w [rows, columns], rows `stride` apart, into panels [ceil(columns / W)][rows][W], with zeros after the last
// column.
template <typename T>
void PackSparsePanels(const T* w, int64_t rows, int64_t columns, int64_t stride, T* panels);

// Computes out[r, c] = sum over i of a[r, i] w[i, c], for the panels [first, last) and all rows; w has `depth` rows.
// out: rows `stride` apart; a row begins with the first column of panel 0 and has whole panels. The order of sums
// depends on the number of rows in a group.
template <typename T>
void MultiplySparseRows(const SparseRows<T>& a, const T* panels, int64_t depth, int64_t first, int64_t last, T* out,
                        int64_t stride);

// Number of elements of w [columns, depth] when PackSparseTiles has packed it for MultiplySparse; and number of columns
// of the result, with padding.
template <typename T>
int64_t SparseTilesSize(int64_t columns, int64_t depth);
template <typename T>
int64_t SparseColumns(int64_t columns);
template <typename T>
void PackSparseTiles(const T* w, int64_t columns, int64_t depth, int64_t stride, T* packed);

// Computes out[r, c] = sum over i of a[r, i] w[c, i], skipping zeros of a. a: [rows, depth], `stride` apart; out:
// [rows, SparseColumns], with zeros in the padding. A row has the same bits whatever other rows are multiplied.
template <typename T>
void MultiplySparse(const T* a, int64_t rows, int64_t depth, int64_t stride, const T* packed, int64_t columns, T* out);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_SPARSE_PRODUCTS_H_
