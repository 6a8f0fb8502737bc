// Products with a left factor of which many numbers are exactly 0, as after a relu: half of the work is left out.
//
// Sums are in the order of the depth, whatever else is multiplied with: a row's result has the same bits in any
// company.

#ifndef RUTILE_LIB_MATRIX_SPARSE_PRODUCTS_H_
#define RUTILE_LIB_MATRIX_SPARSE_PRODUCTS_H_

#include <cstdint>
#include <vector>

namespace rutile {

// Columns of a panel of MultiplySparseRows.
template <typename T>
int64_t SparsePanelColumns();

// Rows in groups that are 0 at the same places.
template <typename T>
struct SparseRows {
  struct Group {
    int64_t first_row, rows;
    int64_t begin, end;  // of its part of `place`
    int64_t values;      // where its values begin: [rows, end - begin]
  };
  std::vector<Group> groups;
  std::vector<int32_t> place;  // where a row is not 0, ascending
  std::vector<T> value;

  void Clear();
  // The next `rows` rows of length n, `stride` apart; only places where mask [n] is positive count.
  void Add(const T* mask, const T* row, int64_t rows, int64_t n, int64_t stride);
};

// panels [ceil(columns / W)][rows][W] of w [rows, columns], whose rows are `stride` apart; zeros after the last column.
template <typename T>
void PackSparsePanels(const T* w, int64_t rows, int64_t columns, int64_t stride, T* panels);

// out[r, c] = sum over i of a[r, i] w[i, c], for the panels [first, last) and all rows; w has `depth` rows. out: rows
// `stride` apart, a row begins with the first column of panel 0 and holds whole panels. How many rows a group has
// decides the order of sums.
template <typename T>
void MultiplySparseRows(const SparseRows<T>& a, const T* panels, int64_t depth, int64_t first, int64_t last, T* out,
                        int64_t stride);

// Numbers that w [columns, depth], rows `stride` apart, takes when it is packed for MultiplySparse; and columns of its
// result, padded.
template <typename T>
int64_t SparseTilesSize(int64_t columns, int64_t depth);
template <typename T>
int64_t SparseColumns(int64_t columns);
template <typename T>
void PackSparseTiles(const T* w, int64_t columns, int64_t depth, int64_t stride, T* packed);

// out[r, c] = sum over i of a[r, i] w[c, i], where a is not 0. a: [rows, depth], `stride` apart; out: [rows,
// SparseColumns], zeros in padding. A row has the same bits whatever rows are beside it.
template <typename T>
void MultiplySparse(const T* a, int64_t rows, int64_t depth, int64_t stride, const T* packed, int64_t columns, T* out);

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_SPARSE_PRODUCTS_H_
