// What follows fc: its bias, dropout, bn2 and relu, forward and backward. A block computes a few columns, all rows.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_CONVE_OUTPUT_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_CONVE_OUTPUT_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/kge/gpu/bodies/block_sums-inl.h"
#include "lib/kge/gpu/conve_view-inl.h"

namespace rutile {

// How a block goes through its columns of [B, d]: part (i, s) of sums takes rows s, s + splits, ... of column first +
// i.
struct ColumnTile {
  static constexpr int kColumns = 4, kThreads = 256, kSplits = kThreads / kColumns;
  static int64_t SharedBytes() { return kThreads * static_cast<int64_t>(sizeof(double)); }
  static int64_t NumBlocks(int64_t dim) { return (dim + kColumns - 1) / kColumns; }

  int64_t first, rows, stride;
  int columns, splits;
  double* sums;

  RUTILE_DEVICE ColumnTile(const Block& block, int64_t the_rows, int64_t dim)
      : first(block.index * kColumns),
        rows(the_rows),
        stride(dim),
        columns(static_cast<int>(dim - first < kColumns ? dim - first : kColumns)),
        splits(static_cast<int>(the_rows < kSplits ? the_rows : kSplits)),
        sums(static_cast<double*>(block.shared)) {}
  // Sets sums [columns] to sums over rows of term(row, column of the matrix, offset).
  template <typename Term>
  RUTILE_DEVICE void Sum(const Block& block, const Term& term) const {
    BlockSums(block, columns, splits, sums, [&](int i, int split) {
      double sum = 0;
      for (int64_t row = split; row < rows; row += splits) sum += term(row, first + i, row * stride + first + i);
      return sum;
    });
  }
};

// Turns hidden [B, d], fc's products, into what bn2 gets, sets the batch's statistics of bn2, and computes v [B, d].
template <typename T>
struct OutputBody {
  static constexpr int kThreads = ColumnTile::kThreads;
  ConveView<T> view;
  T *hidden, *v;

  RUTILE_DEVICE void operator()(const Block& block) const {
    const ColumnTile tile(block, view.size, view.shape.dim);
    const T* const bias = view.parameters + view.shape.fc_bias;
    double* const mean = view.statistics + view.layout.bn2;
    double* const variance = mean + view.shape.dim;
    const auto n = static_cast<double>(view.size);
    tile.Sum(block, [&](int64_t e, int64_t j, int64_t at) {
      hidden[at] = (hidden[at] + bias[j]) * view.output.At(e, j);
      return static_cast<double>(hidden[at]);
    });
    if (view.training) {
      for (int i = block.thread; i < tile.columns; i += block.threads) mean[tile.first + i] = tile.sums[i] / n;
      tile.Sum(block, [&](int64_t, int64_t j, int64_t at) {
        const double y = static_cast<double>(hidden[at]) - mean[j];
        return y * y;
      });
      for (int i = block.thread; i < tile.columns; i += block.threads) variance[tile.first + i] = tile.sums[i] / n;
      block.Sync();
    }
    for (int u = block.thread; u < tile.columns * tile.splits; u += block.threads) {
      const int64_t j = tile.first + u % tile.columns;
      const NormLine<T> norm = view.LineOf(view.Bn2(j));
      for (int64_t e = u / tile.columns; e < tile.rows; e += tile.splits) {
        const T y = norm(hidden[e * tile.stride + j]);
        v[e * tile.stride + j] = y < 0 ? T(0) : y;
      }
    }
  }
};

// Computes d_fc [B, d], the gradient of fc's products, and adds the gradients of bn2 and of fc's bias.
template <typename T>
struct OutputSlopesBody {
  static constexpr int kThreads = ColumnTile::kThreads;
  ConveView<T> view;
  const T *hidden, *v, *d_v;
  T *d_fc, *gradient;

  static int64_t SharedBytes() {
    return ColumnTile::SharedBytes() + 2 * ColumnTile::kColumns * static_cast<int64_t>(sizeof(double));
  }
  RUTILE_DEVICE void operator()(const Block& block) const {
    const ColumnTile tile(block, view.size, view.shape.dim);
    const KgeStepShape& shape = view.shape;
    double* const dy_sums = tile.sums + ColumnTile::kThreads;  // [columns]
    tile.Sum(block, [&](int64_t, int64_t, int64_t at) { return static_cast<double>(Slope(at)); });
    for (int i = block.thread; i < tile.columns; i += block.threads) {
      dy_sums[i] = tile.sums[i];
      if (shape.bn2_bias >= 0) gradient[shape.bn2_bias + tile.first + i] += static_cast<T>(tile.sums[i]);
    }
    tile.Sum(block, [&](int64_t, int64_t j, int64_t at) {
      const double mean = view.statistics[view.layout.bn2 + j];
      return static_cast<double>(Slope(at)) * (static_cast<double>(hidden[at]) - mean);
    });
    // Sums of dy xhat are kept while the last sums are taken.
    double* const products = dy_sums + ColumnTile::kColumns;
    for (int i = block.thread; i < tile.columns; i += block.threads) {
      products[i] = tile.sums[i] * view.Bn2(tile.first + i).inverse;
      if (shape.bn2_weight >= 0) gradient[shape.bn2_weight + tile.first + i] += static_cast<T>(products[i]);
    }
    const auto n = static_cast<double>(view.size);
    block.Sync();
    BlockSums(block, tile.columns, tile.splits, tile.sums, [&](int i, int split) {
      const int64_t j = tile.first + i;
      const NormChannel norm = view.Bn2(j);
      const T gain = static_cast<T>(norm.gain), center = static_cast<T>(norm.mean);
      const T constant = view.training ? static_cast<T>(dy_sums[i] / n) : T(0);
      const T of_x = view.training ? static_cast<T>(products[i] / n * norm.inverse) : T(0);
      double sum = 0;
      for (int64_t e = split; e < tile.rows; e += tile.splits) {
        const int64_t at = e * tile.stride + j;
        d_fc[at] = gain * (Slope(at) - constant - (hidden[at] - center) * of_x) * view.output.At(e, j);
        sum += static_cast<double>(d_fc[at]);
      }
      return sum;
    });
    for (int i = block.thread; i < tile.columns; i += block.threads) {
      gradient[shape.fc_bias + tile.first + i] += static_cast<T>(tile.sums[i]);
    }
  }

 private:
  // Returns the gradient before relu.
  RUTILE_DEVICE T Slope(int64_t at) const { return v[at] > 0 ? d_v[at] : T(0); }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_CONVE_OUTPUT_BODIES_INL_H_
