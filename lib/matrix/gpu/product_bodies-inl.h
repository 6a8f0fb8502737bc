// Kernels of products of matrices.
//
// Tiles come through the memory of a block in slices of terms, of which several are on their way at a time.

#ifndef RUTILE_LIB_MATRIX_GPU_PRODUCT_BODIES_INL_H_
#define RUTILE_LIB_MATRIX_GPU_PRODUCT_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/async_copy.h"
#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/matrix/gpu/product_panel-inl.h"

namespace rutile {

// What a kernel of products computes.
template <typename T>
struct ProductTask {
  ProductPanel<T> a, b;  // m lines, n lines
  int64_t k, k_of_split, splits;
  T* c;  // [splits] of rows c_stride apart
  int64_t c_stride, part_stride;
  bool aligned;  // true: groups of 16 bytes of c can be stored at once
  bool add;      // to c
};

// Computes tiles of c, or of parts of c's sum, whose kind is Tile. Blocks: num_blocks().
template <typename T, typename Tile>
struct ProductTileBody : ProductTask<T> {
  using Group = Numbers16<T>;
  static constexpr int kThreads = Tile::kThreads;
  static constexpr int kBlocksAtOnce = Tile::kBlocksAtOnce;
  using RowLayout = typename Tile::RowLayout;
  using ColumnLayout = typename Tile::ColumnLayout;

  using ProductTask<T>::a, ProductTask<T>::b, ProductTask<T>::k, ProductTask<T>::k_of_split, ProductTask<T>::splits;
  using ProductTask<T>::c, ProductTask<T>::c_stride, ProductTask<T>::part_stride, ProductTask<T>::aligned;
  using ProductTask<T>::add;

  struct Shared {
    alignas(16) T rows[Tile::kStages][RowLayout::kNumbers];
    alignas(16) T columns[Tile::kStages][ColumnLayout::kNumbers];
  };

  RUTILE_DEVICE int64_t row_tiles() const { return (a.lines + Tile::kRows - 1) / Tile::kRows; }
  RUTILE_DEVICE int64_t column_tiles() const { return (b.lines + Tile::kColumns - 1) / Tile::kColumns; }
  int64_t num_blocks() const { return row_tiles() * column_tiles() * splits; }

  // Adjacent blocks share lines of the factor that has more of them, which is then read about once.
  RUTILE_DEVICE void operator()(const Block& block) const {
    Shared* const shared = static_cast<Shared*>(block.shared);
    const int64_t split = block.index / (row_tiles() * column_tiles());
    const int64_t tile = block.index % (row_tiles() * column_tiles());
    const bool rows_first = row_tiles() <= column_tiles();
    const int64_t first_row = (rows_first ? tile % row_tiles() : tile / column_tiles()) * Tile::kRows;
    const int64_t first_column = (rows_first ? tile / row_tiles() : tile % column_tiles()) * Tile::kColumns;
    const int64_t begin = split * k_of_split, end = begin + k_of_split < k ? begin + k_of_split : k;
    const auto load = [&](int64_t s) {
      const int64_t term = begin + s * Tile::kSlice;
      if (term < end) {
        const int stage = static_cast<int>(s % Tile::kStages);
        a.template Load<RowLayout>(block, first_row, term, end, shared->rows[stage]);
        b.template Load<ColumnLayout>(block, first_column, term, end, shared->columns[stage]);
      }
      EndCopies();
    };

    // On a GPU each thread has one part of the tile. Otherwise a thread has several parts, each with its own sums.
#ifdef __CUDA_ARCH__
    constexpr int kParts = 1;
#else
    constexpr int kParts = kThreads;
#endif
    T sum[kParts][Tile::kThreadRows][Tile::kThreadColumns] = {};
    for (int s = 0; s < Tile::kStages - 1; ++s) load(s);
    for (int64_t s = 0; begin + s * Tile::kSlice < end; ++s) {
      WaitForCopies<Tile::kStages - 2>();
      block.Sync();
      load(s + Tile::kStages - 1);
      const int stage = static_cast<int>(s % Tile::kStages);
      for (int p = 0; p < kParts; ++p) {
        const int thread = block.thread + p * block.threads;
        if (kParts > 1 && thread >= kThreads) break;
        Tile::Multiply(thread, shared->rows[stage], shared->columns[stage], sum[p]);
      }
    }
    for (int p = 0; p < kParts; ++p) {
      const int thread = block.thread + p * block.threads;
      if (kParts > 1 && thread >= kThreads) break;
      Store(thread, first_row, first_column, c + split * part_stride, sum[p]);
    }
  }

 private:
  RUTILE_DEVICE void Store(int thread, int64_t first_row, int64_t first_column, T* to,
                           T (*sum)[Tile::kThreadColumns]) const {
    RUTILE_UNROLL
    for (int i = 0; i < Tile::kThreadRows; ++i) {
      const int64_t row = first_row + Tile::Row(thread, i);
      RUTILE_UNROLL
      for (int g = 0; g < Tile::kThreadColumns / Tile::kGroup; ++g) {
        const int64_t column = first_column + Tile::Column(thread, g * Tile::kGroup);
        const int64_t rest = row < a.lines ? b.lines - column : 0;
        T* const at = to + row * c_stride + column;
        if (aligned && rest >= Tile::kGroup) {
          Group group;
          if (add) group = *reinterpret_cast<const Group*>(at);
          RUTILE_UNROLL
          for (int e = 0; e < Tile::kGroup; ++e) {
            const T value = sum[i][g * Tile::kGroup + e];
            group.value[e] = add ? group.value[e] + value : value;
          }
          *reinterpret_cast<Group*>(at) = group;
        } else {
          RUTILE_UNROLL
          for (int e = 0; e < Tile::kGroup; ++e) {
            const T value = sum[i][g * Tile::kGroup + e];
            if (e < rest) at[e] = add ? at[e] + value : value;
          }
        }
      }
    }
  }
};

// Adds the parts of a sum in order: c = sum of parts, or c += it. For each i of m n.
template <typename T>
struct AddPartsBody {
  static constexpr int kThreads = 256;
  const T* parts;  // [num_parts] of rows row_stride apart
  int64_t num_parts, part_stride, row_stride, n;
  T* c;
  int64_t c_stride;
  bool add;

  RUTILE_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / n, column = i % n;
    const T* const from = parts + row * row_stride + column;
    T sum = 0;
    for (int64_t p = 0; p < num_parts; ++p) sum += from[p * part_stride];
    T& to = c[row * c_stride + column];
    to = add ? to + sum : sum;
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_PRODUCT_BODIES_INL_H_
