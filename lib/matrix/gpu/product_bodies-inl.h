// Bodies that multiply matrices: tiles of the product in registers, panels of the factors in the memory of a block.

#ifndef RUTILE_LIB_MATRIX_GPU_PRODUCT_BODIES_INL_H_
#define RUTILE_LIB_MATRIX_GPU_PRODUCT_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/async_copy.h"
#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"

namespace rutile {

// A tile has kWarpRows x kWarpColumns warps, and a thread computes kThreadRows x kThreadColumns numbers in registers. A
// warp's 4 x 8 threads have their rows and columns in groups of 16 bytes, so that the loads of a warp are adjacent.
template <typename T, int kWarpRows, int kWarpColumns, int kThreadRows_, int kThreadColumns_>
struct ProductTile {
  static constexpr int kThreads = 32 * kWarpRows * kWarpColumns;
  static constexpr int kThreadRows = kThreadRows_, kThreadColumns = kThreadColumns_;
  static constexpr int kGroup = Numbers16<T>::kSize;
  static constexpr int kRows = kWarpRows * 4 * kThreadRows, kColumns = kWarpColumns * 8 * kThreadColumns;
  static constexpr int kSlice = 8;                        // terms in the memory of a block at a time
  static constexpr int kStages = sizeof(T) == 4 ? 4 : 3;  // slices there, of which one is used while others arrive

  // Returns which of a tile's rows or columns is the i-th of a thread.
  RUTILE_DEVICE static int Row(int thread, int i) {
    const int warp = thread / 32, lane = thread % 32;
    return warp / kWarpColumns * (4 * kThreadRows) + i / kGroup * (4 * kGroup) + lane / 8 * kGroup + i % kGroup;
  }
  RUTILE_DEVICE static int Column(int thread, int j) {
    const int warp = thread / 32, lane = thread % 32;
    return warp % kWarpColumns * (8 * kThreadColumns) + j / kGroup * (8 * kGroup) + lane % 8 * kGroup + j % kGroup;
  }
};

template <typename T>
using LargeProductTile = ProductTile<T, 4, 2, 8, sizeof(T) == 4 ? 8 : 4>;  // 128 x 128, or 128 x 64 in fp64
template <typename T>
using SmallProductTile = ProductTile<T, 2, 2, sizeof(T) == 4 ? 8 : 4, 4>;  // 64 x 64, or 32 x 64 in fp64

// How the numbers of a factor lie. A line is a row of a or a column of b, and a term is a number of its sum.
enum class PanelOrder {
  kTermsAdjacent,   // those of adjacent terms are adjacent
  kLinesAdjacent,   // those of adjacent lines are
  kLinesIn16Bytes,  // and they are aligned, so that one load has several
};

// The lines of a factor.
template <typename T>
struct ProductPanel {
  const T* data;
  int64_t stride;  // between lines, or between terms where lines are adjacent
  int64_t lines;
  PanelOrder order;

  // Starts to load the terms [term, end), kSlice at most, of kLines lines from `first`: shared [kSlice][kStride].
  // What is beyond the factor is 0.
  template <int kLines, int kStride, int kSlice>
  RUTILE_DEVICE void Load(const Block& block, int64_t first, int64_t term, int64_t end, T* shared) const {
    using Group = Numbers16<T>;
    const int num_lines = lines - first < kLines ? static_cast<int>(lines - first) : kLines;
    const int num_terms = end - term < kSlice ? static_cast<int>(end - term) : kSlice;
    if (order == PanelOrder::kTermsAdjacent) {
      ForShare<kSlice, kLines, 1>(block, data + first * stride + term, [&](int t, int line, const T* from) {
        StartCopyOfOne(t < num_terms && line < num_lines, shared + t * kStride + line, from);
      });
    } else if (order == PanelOrder::kLinesAdjacent) {
      ForShare<kLines, kSlice, 1>(block, data + term * stride + first, [&](int line, int t, const T* from) {
        StartCopyOfOne(t < num_terms && line < num_lines, shared + t * kStride + line, from);
      });
    } else {
      constexpr int kSize = Group::kSize;
      ForShare<kLines / kSize, kSlice, kSize>(block, data + term * stride + first, [&](int g, int t, const T* from) {
        const int rest = t < num_terms ? num_lines - g * kSize : 0, valid = rest < kSize ? rest : kSize;
        StartCopyOf(valid > 0 ? valid : 0, reinterpret_cast<Group*>(shared + t * kStride + g * kSize), from);
      });
    }
  }

 private:
  // Calls copy(i, j, from + i kStep + j stride) for this thread's share of i < kAcross and j < kAlong. Adjacent threads
  // have adjacent i. On a GPU, where the number of threads is a constant, all conditions are constants, and pointers
  // move by a sum for each copy.
  template <int kAcross, int kAlong, int kStep, typename Copy>
  RUTILE_DEVICE void ForShare(const Block& block, const T* from, const Copy& copy) const {
    const int across = block.threads < kAcross ? block.threads : kAcross, rows = block.threads / across;
    const int row = block.thread / across;
    if (block.threads % across != 0 && row >= rows) return;
    RUTILE_UNROLL
    for (int begin = 0; begin < kAcross; begin += across) {
      const int i = begin + block.thread % across;
      if (kAcross % across != 0 && i >= kAcross) break;
      const T* at = from + i * kStep + row * stride;
      RUTILE_UNROLL
      for (int first = 0; first < kAlong; first += rows) {
        const int j = first + row;
        if (kAlong % rows != 0 && j >= kAlong) break;
        copy(i, j, at);
        at += rows * stride;
      }
    }
  }
};

// Computes tiles of c, or of parts of c's sum. Blocks: num_blocks().
template <typename T, typename Tile>
struct ProductTileBody {
  using Group = Numbers16<T>;
  static constexpr int kThreads = Tile::kThreads;
  static constexpr int kBlocksAtOnce = 512 / kThreads;
  // A group of padding puts the eight terms of a line, which a warp may write at once, into different banks.
  static constexpr int kRowStride = Tile::kRows + Tile::kGroup, kColumnStride = Tile::kColumns + Tile::kGroup;

  ProductPanel<T> a, b;  // m lines, n lines
  int64_t k, k_of_split, splits;
  T* c;  // [splits] of rows c_stride apart
  int64_t c_stride, part_stride;
  bool aligned;  // true: groups of 16 bytes of c can be stored at once
  bool add;      // to c

  struct Shared {
    alignas(16) T rows[Tile::kStages][Tile::kSlice * kRowStride];
    alignas(16) T columns[Tile::kStages][Tile::kSlice * kColumnStride];
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
        a.template Load<Tile::kRows, kRowStride, Tile::kSlice>(block, first_row, term, end, shared->rows[stage]);
        b.template Load<Tile::kColumns, kColumnStride, Tile::kSlice>(block, first_column, term, end,
                                                                     shared->columns[stage]);
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
        Multiply(shared->rows[stage] + Tile::Row(thread, 0), shared->columns[stage] + Tile::Column(thread, 0), sum[p]);
      }
    }
    for (int p = 0; p < kParts; ++p) {
      const int thread = block.thread + p * block.threads;
      if (kParts > 1 && thread >= kThreads) break;
      Store(thread, first_row, first_column, c + split * part_stride, sum[p]);
    }
  }

 private:
  // Adds the products of a slice.
  RUTILE_DEVICE static void Multiply(const T* rows, const T* columns, T (*sum)[Tile::kThreadColumns]) {
    RUTILE_UNROLL
    for (int l = 0; l < Tile::kSlice; ++l) {
      Group x[Tile::kThreadRows / Tile::kGroup], y[Tile::kThreadColumns / Tile::kGroup];
      RUTILE_UNROLL
      for (int g = 0; g < Tile::kThreadRows / Tile::kGroup; ++g) {
        x[g] = *reinterpret_cast<const Group*>(rows + l * kRowStride + g * (4 * Tile::kGroup));
      }
      RUTILE_UNROLL
      for (int g = 0; g < Tile::kThreadColumns / Tile::kGroup; ++g) {
        y[g] = *reinterpret_cast<const Group*>(columns + l * kColumnStride + g * (8 * Tile::kGroup));
      }
      RUTILE_UNROLL
      for (int i = 0; i < Tile::kThreadRows; ++i) {
        RUTILE_UNROLL
        for (int j = 0; j < Tile::kThreadColumns; ++j) {
          sum[i][j] += x[i / Tile::kGroup].value[i % Tile::kGroup] * y[j / Tile::kGroup].value[j % Tile::kGroup];
        }
      }
    }
  }

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
