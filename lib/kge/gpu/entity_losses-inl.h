// Scores of queries with all entities, their losses and gradients, in the memory of a device: what EntityScores of
// lib/kge/training/scores/entity_scores.h does on processors.
//
// Scores are computed for a block of entities at a time, so that memory does not grow with the table.

#ifndef RUTILE_LIB_KGE_GPU_ENTITY_LOSSES_INL_H_
#define RUTILE_LIB_KGE_GPU_ENTITY_LOSSES_INL_H_

#include <algorithm>
#include <cstdint>

#include "lib/gpu/device_array-inl.h"
#include "lib/kge/gpu/bodies/dropout_bodies-inl.h"
#include "lib/kge/gpu/bodies/loss_bodies-inl.h"
#include "lib/matrix/factor_rounding.h"
#include "lib/matrix/gpu/device_products-inl.h"

namespace rutile {

// Arrays in the device's memory. The gradients are null if only losses are wanted.
template <typename T>
struct DeviceEntityArrays {
  const T* v = nullptr;         // [B, d]
  const T* entities = nullptr;  // [N, d]
  const T* bias = nullptr;      // [N] or null
  T* d_entities = nullptr;      // [N, d]
  T* d_bias = nullptr;          // [N]; null where bias is
  T* d_v = nullptr;             // [B, d] overwritten
  bool add = true;              // add to d_entities and d_bias; false: overwrite them
  // Dropout of the entities that queries are scored with; 0: none. The keys are CandidateKeyBody's.
  double candidate_rate = 0;
  const uint64_t* candidate_key = nullptr;  // [N]
};

// T is float or double. One thread at a time may use an object. Sums are taken in an order that depends on sizes and
// the number of the device's processors alone.
template <typename T, typename Backend>
class DeviceEntityLosses {
 public:
  // most_bytes: of the scores that are in memory at once. A block has one entity at least. The backend must outlive
  // this.
  explicit DeviceEntityLosses(Backend* backend, int64_t most_bytes = int64_t{64} << 20)
      : most_bytes_(most_bytes),
        backend_(backend),
        products_(backend),
        scores_(backend),
        rows_(backend),
        d_rows_(backend),
        states_(backend) {}

  // Sets how products of scores and gradients round their factors; only with T = float. By default they do not.
  template <typename U = T>
  void SetRounding(FactorRounding rounding) {
    products_.template SetRounding<U>(rounding);
  }

  // Computes the losses of queries, [B] in the device's memory, with softmax times their weights, and the gradients of
  // the sum of these losses. bce_scale: what a binary cross-entropy is multiplied by, 1 / N for the mean over entities.
  // A batch without queries overwrites nothing.
  void AddLosses(const DeviceLabels& labels, int64_t num_entities, int64_t dim, bool softmax, double bce_scale,
                 const DeviceEntityArrays<T>& arrays, double* losses) {
    if (labels.size == 0) return;
    // Dropout needs a row and its gradient for each entity of a block.
    const int64_t numbers = labels.size + (arrays.candidate_rate > 0 ? 2 * dim : 0);
    const int64_t size = BlockSize(numbers, num_entities);
    const int64_t blocks = (num_entities + size - 1) / size;
    const auto block = [&](int64_t i) { return EntityBlock{i * size, std::min(size, num_entities - i * size)}; };
    const bool gradients = arrays.d_v != nullptr;
    if (!softmax) {
      for (int64_t i = 0; i < blocks; ++i) {
        const DeviceScores<T> scores = Score(labels.size, dim, arrays, block(i));
        backend_->ForEachBlock(labels.size, sizeof(LossShared),
                               CrossEntropyBody<T>{labels, scores, bce_scale, /*add=*/i > 0, gradients, losses});
        if (gradients) AddGradients(labels.size, dim, arrays, scores, /*add_to_d_v=*/i > 0);
      }
      return;
    }
    states_.Resize(labels.size);
    DeviceScores<T> scores = {};
    for (int64_t i = 0; i < blocks; ++i) {
      scores = Score(labels.size, dim, arrays, block(i));
      backend_->ForEachBlock(labels.size, sizeof(LossShared),
                             SoftmaxSumsBody<T>{labels, scores, /*add=*/i > 0, states_.data()});
    }
    backend_->ForEach(labels.size, SoftmaxLossBody{states_.data(), labels.weight, losses});
    // The last block's scores are still there, so that this block goes first.
    for (int64_t i = blocks - 1; gradients && i >= 0; --i) {
      if (i < blocks - 1) scores = Score(labels.size, dim, arrays, block(i));
      backend_->ForEachBlock(labels.size, 0, SoftmaxGradientsBody<T>{labels, scores, states_.data()});
      AddGradients(labels.size, dim, arrays, scores, /*add_to_d_v=*/i < blocks - 1);
    }
  }

  // Returns the number of entities of all blocks but the last, which may have fewer. numbers: in memory for each
  // entity.
  int64_t BlockSize(int64_t numbers, int64_t num_entities) const {
    constexpr int64_t kTile = 128;  // of a product
    int64_t most = std::max<int64_t>(1, most_bytes_ / (numbers * static_cast<int64_t>(sizeof(T))));
    if (most >= num_entities) return num_entities;
    const int64_t multiple = most < kTile ? 1 : kTile;
    most = most / multiple * multiple;
    const int64_t blocks = (num_entities + most - 1) / most, even = (num_entities + blocks - 1) / blocks;
    return (even + multiple - 1) / multiple * multiple;
  }

 private:
  struct EntityBlock {
    int64_t first, n;
  };

  // Computes the scores of a block, without bias.
  DeviceScores<T> Score(int64_t queries, int64_t dim, const DeviceEntityArrays<T>& arrays, const EntityBlock& block) {
    constexpr int64_t kLine = 128 / sizeof(T);  // rows begin where lines of the cache do
    const int64_t stride = (block.n + kLine - 1) / kLine * kLine;
    scores_.Resize(queries * stride);
    const T* rows = arrays.entities + block.first * dim;
    if (arrays.candidate_rate > 0) {
      rows_.Resize(block.n * dim);
      backend_->ForEachBlock(block.n, 0,
                             MaskRowsBody<T>{rows, arrays.candidate_key + block.first,
                                             MakeDropoutRate<T>(arrays.candidate_rate), dim, rows_.data(),
                                             /*add=*/false});
      rows = rows_.data();
    }
    products_.Multiply({arrays.v, dim, false}, {rows, dim, true}, queries, block.n, dim, scores_.data(), stride,
                       /*add=*/false);
    return {scores_.data(), stride, block.first, block.n, arrays.bias == nullptr ? nullptr : arrays.bias + block.first};
  }

  // Adds what follows from the gradients of the block that Score was called for last.
  void AddGradients(int64_t queries, int64_t dim, const DeviceEntityArrays<T>& arrays, const DeviceScores<T>& scores,
                    bool add_to_d_v) {
    const bool drops = arrays.candidate_rate > 0;
    const int64_t first = scores.first, n = scores.n;
    const T* const rows = drops ? rows_.data() : arrays.entities + first * dim;
    T* const d_rows = arrays.d_entities + first * dim;
    products_.Multiply({scores.scores, scores.stride, false}, {rows, dim, false}, queries, dim, n, arrays.d_v, dim,
                       add_to_d_v);
    const DeviceFactor<T> transposed = {scores.scores, scores.stride, true}, v = {arrays.v, dim, false};
    if (drops) {
      d_rows_.Resize(n * dim);
      products_.Multiply(transposed, v, n, dim, queries, d_rows_.data(), dim, /*add=*/false);
      backend_->ForEachBlock(n, 0,
                             MaskRowsBody<T>{d_rows_.data(), arrays.candidate_key + first,
                                             MakeDropoutRate<T>(arrays.candidate_rate), dim, d_rows, arrays.add});
    } else {
      products_.Multiply(transposed, v, n, dim, queries, d_rows, dim, arrays.add);
    }
    if (arrays.bias == nullptr) return;
    backend_->ForEachBlock(
        ColumnSumsBody<T>::NumBlocks(n), ColumnSumsBody<T>::kSharedBytes,
        ColumnSumsBody<T>{scores.scores, scores.stride, queries, n, arrays.d_bias + first, arrays.add});
  }

  const int64_t most_bytes_;
  Backend* const backend_;
  DeviceProducts<T, Backend> products_;
  DeviceArray<T, Backend> scores_;                   // [B, n] of a block, and then their gradients
  DeviceArray<T, Backend> rows_, d_rows_;            // [n, d] of a block after dropout, and their gradients
  DeviceArray<DeviceSoftmaxState, Backend> states_;  // [B]
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_ENTITY_LOSSES_INL_H_
