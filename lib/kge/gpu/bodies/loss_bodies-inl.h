// Bodies for losses of scores with a block of entities, and for their gradients in place of the scores.
//
// The formulas are those of lib/kge/training/scores/blocked_loss.h. A block of threads takes one query. Exponentials
// and logarithms have the precision of the scores, sums over entities are in double, and no exponential of a positive
// number is taken. NaN makes loss and gradient NaN.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_LOSS_BODIES_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_LOSS_BODIES_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"

namespace rutile {

RUTILE_DEVICE inline float ExpOf(float x) { return expf(x); }
RUTILE_DEVICE inline double ExpOf(double x) { return exp(x); }
RUTILE_DEVICE inline float Log1pOf(float x) { return log1pf(x); }
RUTILE_DEVICE inline double Log1pOf(double x) { return log1p(x); }

// Labels of B queries in the device's memory. The label of an entity is `base`, of a true tail base + extra.
struct DeviceLabels {
  int64_t size = 0;                          // B
  const int64_t* positive_offset = nullptr;  // [B + 1]
  const int32_t* positive = nullptr;         // true tails of each query, ascending
  const double *base = nullptr, *extra = nullptr;
  const double* weight = nullptr;  // [B] of each query's loss; softmax alone
};

// Scores of B queries with the entities [first, first + n).
template <typename T>
struct DeviceScores {
  T* scores;  // [B, n], rows `stride` apart
  int64_t stride;
  int64_t first, n;
  const T* bias;  // [n], added to the scores, or null

  RUTILE_DEVICE T* Row(int64_t q) const { return scores + q * stride; }
  RUTILE_DEVICE T At(const T* row, int64_t i) const { return bias == nullptr ? row[i] : row[i] + bias[i]; }
};

// A query's softmax sums over the blocks so far.
struct DeviceSoftmaxState {
  double max, sum, label;  // the highest score, the sum of e^(x - max), and that of label_k x_k
};

constexpr int kLossThreads = 512;

// Memory that threads of a block meet in.
struct LossShared {
  double of_thread[kLossThreads];

  // Returns the sum of the threads' numbers, whose order depends on the number of threads alone.
  RUTILE_DEVICE double Sum(const Block& block, double own) {
    return Reduce(block, own, [](double a, double b) { return a + b; });
  }
  // Returns the highest of them, without NaN if another is there.
  RUTILE_DEVICE double Max(const Block& block, double own) {
    return Reduce(block, own, [](double a, double b) { return b > a ? b : a; });
  }

 private:
  template <typename Join>
  RUTILE_DEVICE double Reduce(const Block& block, double own, const Join& join) {
    block.Sync();  // all have read what was here before
    of_thread[block.thread] = own;
    block.Sync();
    for (int n = block.threads; n > 1; n = (n + 1) / 2) {
      const int half = (n + 1) / 2, other = block.thread + half;
      if (other < n) of_thread[block.thread] = join(of_thread[block.thread], of_thread[other]);
      block.Sync();
    }
    return of_thread[0];
  }
};

// Calls body(column, score) for this thread's share of a query's scores. Several are loaded before the first is used,
// since a store to the row would have to wait for each of them.
template <typename T, typename Body>
RUTILE_DEVICE inline void ForScores(const Block& block, const DeviceScores<T>& scores, int64_t q, const Body& body) {
  constexpr int kLoads = 4;
  const T* const row = scores.Row(q);
  for (int64_t begin = block.thread; begin < scores.n; begin += kLoads * block.threads) {
    T x[kLoads];
    RUTILE_UNROLL
    for (int l = 0; l < kLoads; ++l) {
      const int64_t i = begin + l * block.threads;
      x[l] = i < scores.n ? scores.At(row, i) : T{0};
    }
    RUTILE_UNROLL
    for (int l = 0; l < kLoads; ++l) {
      const int64_t i = begin + l * block.threads;
      if (i < scores.n) body(i, x[l]);
    }
  }
}

// Calls body(column, times) for this thread's share of a query's true tails in the block of entities. A tail that is
// listed several times is one call.
template <typename T, typename Body>
RUTILE_DEVICE inline void ForPositives(const Block& block, const DeviceLabels& labels, const DeviceScores<T>& scores,
                                       int64_t q, const Body& body) {
  const int64_t begin = labels.positive_offset[q], end = labels.positive_offset[q + 1];
  for (int64_t p = begin + block.thread; p < end; p += block.threads) {
    const int32_t tail = labels.positive[p];
    const int64_t column = tail - scores.first;
    if (column < 0 || column >= scores.n || (p > begin && labels.positive[p - 1] == tail)) continue;
    int times = 1;
    while (p + times < end && labels.positive[p + times] == tail) ++times;
    body(column, times);
  }
}

// Returns the sum of a query's scores with its true tails in the block of entities, in all threads.
template <typename T>
RUTILE_DEVICE inline double SumOfPositives(const Block& block, const DeviceLabels& labels,
                                           const DeviceScores<T>& scores, int64_t q, LossShared* shared) {
  const T* const row = scores.Row(q);
  double sum = 0;
  ForPositives(block, labels, scores, q,
               [&](int64_t column, int times) { sum += times * static_cast<double>(scores.At(row, column)); });
  return shared->Sum(block, sum);
}

// Subtracts a true tail's extra label from the gradients of all threads.
template <typename T>
RUTILE_DEVICE inline void SubtractPositives(const Block& block, const DeviceLabels& labels,
                                            const DeviceScores<T>& scores, int64_t q, T extra) {
  block.Sync();
  T* const row = scores.Row(q);
  ForPositives(block, labels, scores, q, [&](int64_t column, int times) { row[column] -= times * extra; });
}

// Binary cross-entropy of query block.index.
template <typename T>
struct CrossEntropyBody {
  static constexpr int kThreads = kLossThreads;
  DeviceLabels labels;
  DeviceScores<T> scores;
  double scale;
  bool add;        // to losses; false: overwrite them
  bool gradients;  // in place of the scores
  double* losses;  // [B]

  RUTILE_DEVICE void operator()(const Block& block) const {
    LossShared* const shared = static_cast<LossShared*>(block.shared);
    const int64_t q = block.index;
    const T base = static_cast<T>(labels.base[q]), slope = static_cast<T>(scale), scaled_base = slope * base;
    const double positives = SumOfPositives(block, labels, scores, q, shared);
    T* const row = scores.Row(q);
    double sum = 0;
    ForScores(block, scores, q, [&](int64_t i, T x) {
      const T e = ExpOf(x < 0 ? x : -x);
      // The terms are softplus(x) - base x.
      sum += static_cast<double>((x < 0 ? T{0} : x) - base * x) + static_cast<double>(Log1pOf(e));
      if (gradients) row[i] = slope * ((x < 0 ? e : T{1}) / (1 + e)) - scaled_base;
    });
    const double all = shared->Sum(block, sum);
    const double extra = scale * labels.extra[q];
    if (block.thread == 0) losses[q] = (add ? losses[q] : 0) + scale * all - extra * positives;
    if (gradients) SubtractPositives(block, labels, scores, q, static_cast<T>(extra));
  }
};

// Adds the scores to the softmax state of query block.index.
template <typename T>
struct SoftmaxSumsBody {
  static constexpr int kThreads = kLossThreads;
  DeviceLabels labels;
  DeviceScores<T> scores;
  bool add;                    // to states; false: overwrite them
  DeviceSoftmaxState* states;  // [B]

  RUTILE_DEVICE void operator()(const Block& block) const {
    LossShared* const shared = static_cast<LossShared*>(block.shared);
    const int64_t q = block.index;
    const DeviceSoftmaxState old = add ? states[q] : DeviceSoftmaxState{-INFINITY, 0, 0};
    T highest = -INFINITY;
    ForScores(block, scores, q, [&](int64_t, T x) {
      if (x > highest) highest = x;
    });
    const double of_block = shared->Max(block, static_cast<double>(highest));
    const double max = of_block > old.max ? of_block : old.max;
    double exponentials = 0, linear = 0;
    ForScores(block, scores, q, [&](int64_t, T x) {
      exponentials += static_cast<double>(ExpOf(x - static_cast<T>(max)));
      linear += static_cast<double>(x);
    });
    const double sum = shared->Sum(block, exponentials), all = shared->Sum(block, linear);
    const double positives = SumOfPositives(block, labels, scores, q, shared);
    if (block.thread != 0) return;
    states[q] = {max, (max != old.max ? old.sum * exp(old.max - max) : old.sum) + sum,
                 old.label + labels.base[q] * all + (positives == 0 ? 0 : labels.extra[q] * positives)};
  }
};

// Replaces the scores of query block.index by the gradients of its weighted loss, after SoftmaxSumsBody of all blocks
// of entities.
template <typename T>
struct SoftmaxGradientsBody {
  static constexpr int kThreads = kLossThreads;
  DeviceLabels labels;
  DeviceScores<T> scores;
  const DeviceSoftmaxState* states;

  RUTILE_DEVICE void operator()(const Block& block) const {
    const int64_t q = block.index;
    const double weight = labels.weight[q];
    const T max = static_cast<T>(states[q].max), scale = static_cast<T>(weight / states[q].sum);
    const T base = static_cast<T>(weight * labels.base[q]);
    T* const row = scores.Row(q);
    ForScores(block, scores, q, [&](int64_t i, T x) { row[i] = ExpOf(x - max) * scale - base; });
    SubtractPositives(block, labels, scores, q, static_cast<T>(weight * labels.extra[q]));
  }
};

// Computes the weighted losses. For each query.
struct SoftmaxLossBody {
  static constexpr int kThreads = 128;
  const DeviceSoftmaxState* states;
  const double* weight;
  double* losses;

  RUTILE_DEVICE void operator()(int64_t q) const {
    losses[q] = weight[q] * (states[q].max + log(states[q].sum) - states[q].label);
  }
};

// Computes sums over rows: sums = those of the columns, or sums += them. Blocks: NumBlocks(columns).
template <typename T>
struct ColumnSumsBody {
  static constexpr int kColumns = 32, kLanes = 16;  // a lane is every 16th row
  static constexpr int kThreads = kColumns * kLanes;
  static constexpr int64_t kSharedBytes = kThreads * sizeof(T);
  const T* matrix;  // [rows, columns], rows `stride` apart
  int64_t stride, rows, columns;
  T* sums;  // [columns]
  bool add;

  static int64_t NumBlocks(int64_t columns) { return (columns + kColumns - 1) / kColumns; }

  RUTILE_DEVICE void operator()(const Block& block) const {
    T* const shared = static_cast<T*>(block.shared);  // [kLanes][kColumns]
    const int64_t first = block.index * kColumns;
    for (int i = block.thread; i < kThreads; i += block.threads) {
      const int64_t column = first + i % kColumns;
      T sum = 0;
      for (int64_t row = i / kColumns; row < rows && column < columns; row += kLanes) {
        sum += matrix[row * stride + column];
      }
      shared[i] = sum;
    }
    block.Sync();
    for (int i = block.thread; i < kColumns && first + i < columns; i += block.threads) {
      T sum = 0;
      for (int lane = 0; lane < kLanes; ++lane) sum += shared[lane * kColumns + i];
      sums[first + i] = add ? sums[first + i] + sum : sum;
    }
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_LOSS_BODIES_INL_H_
