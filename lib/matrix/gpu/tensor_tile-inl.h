// Tiles of a product whose factors are rounded: tensor cores multiply.

#ifndef RUTILE_LIB_MATRIX_GPU_TENSOR_TILE_INL_H_
#define RUTILE_LIB_MATRIX_GPU_TENSOR_TILE_INL_H_

#include <cstdint>
#include <type_traits>

#include "lib/gpu/async_copy.h"
#include "lib/gpu/device_function.h"
#include "lib/matrix/gpu/product_panel-inl.h"
#include "lib/matrix/gpu/tensor_factors-inl.h"

namespace rutile {

// A tile has kWarpRows x kWarpColumns warps, each with 32 kRowGroups rows and 32 columns. Panels lie in the memory of a
// block as the factors do in the device's: kOfTerms of rows (a) and columns (b) says if their terms are adjacent.
//
// Thread (g, t) = (lane / 4, lane % 4) of a warp reads the four lines from Line(g) of each 32, and of each 16 terms the
// four from 4 t, 16 bytes at a time. As line g of tensor cores' instructions it has one of the four in each, so that it
// gets columns Line(2 t) and Line(2 t + 1) of its rows of the result, again by four.
//
// Tensor cores cut off what does not fit into their sums. So each slice has sums of its own, and CUDA cores, which
// round to nearest, add them up: a long sum is not biased.
template <typename Factors, int kWarpRows, int kWarpColumns, int kRowGroups, int kBlocks, bool kRowsOfTerms,
          bool kColumnsOfTerms>
struct TensorTile {
  static constexpr int kThreads = 32 * kWarpRows * kWarpColumns, kBlocksAtOnce = kBlocks;
  static constexpr int kGroup = 4, kThreadRows = 4 * kRowGroups, kThreadColumns = 8;
  static constexpr int kRows = kWarpRows * 32 * kRowGroups, kColumns = kWarpColumns * 32;
  static constexpr int kSlice = Factors::kSlice, kStages = Factors::kStages;

  template <int kLines, bool kOfTerms>
  using Layout = std::conditional_t<kOfTerms, SwizzledLineRows<kLines, kSlice>, SwizzledTermRows<kLines, kSlice>>;
  using RowLayout = Layout<kRows, kRowsOfTerms>;
  using ColumnLayout = Layout<kColumns, kColumnsOfTerms>;

  // Returns which of a tile's rows or columns is the i-th of a thread.
  RUTILE_DEVICE static int Row(int thread, int i) {
    return FirstRow(thread) + Line(thread % 32 / 4) + i / 4 * 32 + i % 4;
  }
  RUTILE_DEVICE static int Column(int thread, int j) {
    return FirstColumn(thread) + Line(thread % 4 * 2 + j / 4) + j % 4;
  }

#ifdef __CUDA_ARCH__
  // Adds the products of a slice to a thread's sums.
  __device__ static void Multiply(int thread, const float* rows, const float* columns, float (*sum)[kThreadColumns]) {
    constexpr int kParts = kSlice / 16;
    const int line = Line(thread % 32 / 4), term = thread % 4 * 4;
    FourLines y[kParts];
#pragma unroll
    for (int p = 0; p < kParts; ++p) y[p] = Read<ColumnLayout>(columns, FirstColumn(thread) + line, term, 0, p);
#pragma unroll
    for (int i = 0; i < kRowGroups; ++i) {
      FourLines x[kParts];
#pragma unroll
      for (int p = 0; p < kParts; ++p) x[p] = Read<RowLayout>(rows, FirstRow(thread) + line, term, i, p);
#pragma unroll
      for (int half = 0; half < 4; half += 2) {
        float slice_sum[4][4] = {};
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
#pragma unroll
          for (int step = 0; step < Factors::kSteps; ++step) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              Factors::AddProducts(step, x[p].factor[half], x[p].factor[half + 1], y[p].factor[j], slice_sum[j]);
            }
          }
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) sum[4 * i + half + e / 2][e % 2 * 4 + j] += slice_sum[j][e];
        }
      }
    }
  }
#else
  static void Multiply(int thread, const float* rows, const float* columns, float (*sum)[kThreadColumns]) {
    typename Factors::Plain x[kThreadRows], y[kThreadColumns];
    for (int l = 0; l < kSlice; ++l) {
      for (int i = 0; i < kThreadRows; ++i) x[i] = Factors::MakePlain(rows[RowLayout::At(Row(thread, i), l)]);
      for (int j = 0; j < kThreadColumns; ++j) {
        y[j] = Factors::MakePlain(columns[ColumnLayout::At(Column(thread, j), l)]);
      }
      for (int i = 0; i < kThreadRows; ++i) {
        for (int j = 0; j < kThreadColumns; ++j) Factors::AddPlain(x[i], y[j], &sum[i][j]);
      }
    }
  }
#endif

 private:
  RUTILE_DEVICE static int FirstRow(int thread) { return thread / 32 / kWarpColumns * (32 * kRowGroups); }
  RUTILE_DEVICE static int FirstColumn(int thread) { return thread / 32 % kWarpColumns * 32; }
  // Returns the first line of the g-th four of 32.
  RUTILE_DEVICE static int Line(int g) { return g % 2 * 16 + g / 2 * 4; }

#ifdef __CUDA_ARCH__
  struct FourLines {
    typename Factors::Factor factor[4];
  };
  // Reads the four lines from line + 32 i and the four terms from term + 16 part. All but line and term are constants,
  // and so are the differences of addresses.
  template <typename PanelLayout>
  __device__ static FourLines Read(const float* panel, int line, int term, int i, int part) {
    using Group = Numbers16<float>;
    float x[4][4];
    const int first = PanelLayout::At(line, term);
    if (PanelLayout::kGroupsOfTerms) {
      const float* const from[2] = {panel + first, panel + (first ^ 16)};
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int offset = (32 * i + e) * kSlice + 16 * part;
        const Group group = *reinterpret_cast<const Group*>(from[offset / 16 % 2] + offset / 32 * 32);
#pragma unroll
        for (int j = 0; j < 4; ++j) x[e][j] = group.value[j];
      }
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int offset = (16 * part + j) * PanelLayout::kLines + 32 * i;
        const Group group = *reinterpret_cast<const Group*>(panel + first + offset);
#pragma unroll
        for (int e = 0; e < 4; ++e) x[e][j] = group.value[e];
      }
    }
    FourLines lines;
#pragma unroll
    for (int e = 0; e < 4; ++e) lines.factor[e] = typename Factors::Factor(x[e]);
    return lines;
  }
#endif
};

// The tiles of a kind of factors, large and small, and what a plan is told of them: their speed in terms of those of
// CUDA cores, and the time of a block alone. They are rough: four warps do not hide the time that tensor cores take.
template <typename Factors>
struct TensorTiles;
template <>
struct TensorTiles<SplitFactors> {
  template <bool kRowsOfTerms, bool kColumnsOfTerms>
  using Large = TensorTile<SplitFactors, 2, 2, 2, 3, kRowsOfTerms, kColumnsOfTerms>;  // 128 x 64
  template <bool kRowsOfTerms, bool kColumnsOfTerms>
  using Small = TensorTile<SplitFactors, 2, 2, 1, 4, kRowsOfTerms, kColumnsOfTerms>;  // 64 x 64
  static constexpr double kSpeed = 3, kAlone = 1.8;
};
template <>
struct TensorTiles<Bf16Factors> {
  template <bool kRowsOfTerms, bool kColumnsOfTerms>
  using Large = TensorTile<Bf16Factors, 2, 4, 2, 2, kRowsOfTerms, kColumnsOfTerms>;  // 128 x 128
  template <bool kRowsOfTerms, bool kColumnsOfTerms>
  using Small = TensorTile<Bf16Factors, 2, 2, 1, 4, kRowsOfTerms, kColumnsOfTerms>;  // 64 x 64
  static constexpr double kSpeed = 6, kAlone = 1.5;
};

}  // namespace rutile

#endif  // RUTILE_LIB_MATRIX_GPU_TENSOR_TILE_INL_H_
