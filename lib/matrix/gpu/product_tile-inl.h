// Tiles of a product whose factors are not rounded: CUDA cores multiply.

#ifndef RUTILE_LIB_MATRIX_GPU_PRODUCT_TILE_INL_H_
#define RUTILE_LIB_MATRIX_GPU_PRODUCT_TILE_INL_H_

#include <cstdint>

#include "lib/gpu/async_copy.h"
#include "lib/gpu/device_function.h"
#include "lib/matrix/gpu/product_panel-inl.h"

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

  static constexpr int kBlocksAtOnce = 512 / kThreads;
  using Group = Numbers16<T>;
  // A group of padding puts the eight terms of a line, which a warp may write at once, into different banks.
  static constexpr int kRowStride = kRows + kGroup, kColumnStride = kColumns + kGroup;
  using RowLayout = PaddedTermRows<kRows, kRowStride, kSlice>;
  using ColumnLayout = PaddedTermRows<kColumns, kColumnStride, kSlice>;

  // Returns which of a tile's rows or columns is the i-th of a thread.
  RUTILE_DEVICE static int Row(int thread, int i) {
    const int warp = thread / 32, lane = thread % 32;
    return warp / kWarpColumns * (4 * kThreadRows) + i / kGroup * (4 * kGroup) + lane / 8 * kGroup + i % kGroup;
  }
  RUTILE_DEVICE static int Column(int thread, int j) {
    const int warp = thread / 32, lane = thread % 32;
    return warp % kWarpColumns * (8 * kThreadColumns) + j / kGroup * (8 * kGroup) + lane % 8 * kGroup + j % kGroup;
  }

  // Adds the products of a slice to a thread's sums.
  RUTILE_DEVICE static void Multiply(int thread, const T* rows, const T* columns, T (*sum)[kThreadColumns]) {
    rows += Row(thread, 0);
    columns += Column(thread, 0);
    RUTILE_UNROLL
    for (int l = 0; l < kSlice; ++l) {
      Group x[kThreadRows / kGroup], y[kThreadColumns / kGroup];
      RUTILE_UNROLL
      for (int g = 0; g < kThreadRows / kGroup; ++g) {
        x[g] = *reinterpret_cast<const Group*>(rows + l * kRowStride + g * (4 * kGroup));
      }
      RUTILE_UNROLL
      for (int g = 0; g < kThreadColumns / kGroup; ++g) {
        y[g] = *reinterpret_cast<const Group*>(columns + l * kColumnStride + g * (8 * kGroup));
      }
      RUTILE_UNROLL
      for (int i = 0; i < kThreadRows; ++i) {
        RUTILE_UNROLL
        for (int j = 0; j < kThreadColumns; ++j) {
          sum[i][j] += x[i / kGroup].value[i % kGroup] * y[j / kGroup].value[j % kGroup];
        }
      }
    }
  }
};

template <typename T>
using LargeProductTile = ProductTile<T, 4, 2, 8, sizeof(T) == 4 ? 8 : 4>;  // 128 x 128, or 128 x 64 in fp64
template <typename T>
using SmallProductTile = ProductTile<T, 2, 2, sizeof(T) == 4 ? 8 : 4, 4>;  // 64 x 64, or 32 x 64 in fp64

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_PRODUCT_TILE_INL_H_
