// Bodies of a sum of squares in fp64. Which numbers are added in which order depends on their count alone: a block has
// kLanes sums, however many threads add to them, and halves their number until one is left.

#ifndef RUTILE_LIB_OPTIMIZER_GPU_NORM_BODIES_INL_H_
#define RUTILE_LIB_OPTIMIZER_GPU_NORM_BODIES_INL_H_

#include <cmath>
#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"
#include "lib/gpu/sum_bodies-inl.h"

namespace rutile {

// Adds up the squares of weight x[i], each product rounded, of kChunk numbers a block.
template <typename T>
struct SquaresBody {
  static constexpr int kThreads = SumLanes::kLanes;
  static constexpr int64_t kChunk = 4096;
  const T* x;
  T weight;
  int64_t n;
  double* sums;  // [blocks]

  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const lane = static_cast<double*>(block.shared);
    const int64_t begin = block.index * kChunk, end = begin + kChunk < n ? begin + kChunk : n;
    for (int l = block.thread; l < SumLanes::kLanes; l += block.threads) {
      double sum = 0;
      for (int64_t i = begin + l; i < end; i += SumLanes::kLanes) {
        const T product = weight * x[i];
        sum = fma(static_cast<double>(product), static_cast<double>(product), sum);
      }
      lane[l] = sum;
    }
    SumLanes::AddUp(block, lane);
    if (block.thread == 0) sums[block.index] = lane[0];
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_OPTIMIZER_GPU_NORM_BODIES_INL_H_
