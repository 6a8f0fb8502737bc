// Sums of many numbers in fp64, in an order that depends on how many there are alone.

#ifndef RUTILE_LIB_GPU_SUM_BODIES_INL_H_
#define RUTILE_LIB_GPU_SUM_BODIES_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"

namespace rutile {

// A block has kLanes sums, however many threads add to them, and halves their number until one is left.
struct SumLanes {
  static constexpr int kLanes = 256;
  static constexpr int64_t kSharedBytes = kLanes * sizeof(double);

  // Adds up the block's sums, which its threads have just written; the first thread then finds the result in sums[0].
  RUTILE_DEVICE static void AddUp(const Block& block, double* sums) {
    for (int half = kLanes / 2; half > 0; half /= 2) {
      block.Sync();
      for (int l = block.thread; l < half; l += block.threads) sums[l] += sums[l + half];
    }
  }
};

// Adds up n numbers; one block.
struct SumBody {
  static constexpr int kThreads = SumLanes::kLanes;
  const double* x;
  int64_t n;
  double* sum;

  RUTILE_DEVICE void operator()(const Block& block) const {
    double* const lane = static_cast<double*>(block.shared);
    for (int l = block.thread; l < SumLanes::kLanes; l += block.threads) {
      double of_lane = 0;
      for (int64_t i = l; i < n; i += SumLanes::kLanes) of_lane += x[i];
      lane[l] = of_lane;
    }
    SumLanes::AddUp(block, lane);
    if (block.thread == 0) *sum = lane[0];
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_GPU_SUM_BODIES_INL_H_
