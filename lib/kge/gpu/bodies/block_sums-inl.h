// Sums that a block of threads adds up in an order that does not depend on how many threads there are.

#ifndef RUTILE_LIB_KGE_GPU_BODIES_BLOCK_SUMS_INL_H_
#define RUTILE_LIB_KGE_GPU_BODIES_BLOCK_SUMS_INL_H_

#include <cstdint>

#include "lib/gpu/block.h"
#include "lib/gpu/device_function.h"

namespace rutile {

// How many numbers of shared memory sums take at most, unless there are more items.
inline constexpr int kMaxBlockSums = 2048;

// Returns how many parts a sum of n terms is cut into, if `items` such sums are computed at once.
RUTILE_DEVICE inline int SplitsOf(int items, int64_t n) {
  const int most = items > kMaxBlockSums ? 1 : kMaxBlockSums / items;
  return static_cast<int>(n < most ? (n < 1 ? 1 : n) : most);
}

// Sets sums[i kValues + v], i in [0, items), to the sum over s in [0, splits) of what part(i, s, values) sets values[v]
// to; it is called once for each i and s. sums: shared memory, [items * kValues * splits], which may still be in use by
// other threads. Neighboring threads have neighboring i.
template <int kValues, typename Part>
RUTILE_DEVICE void BlockSumsOf(const Block& block, int items, int splits, double* sums, const Part& part) {
  block.Sync();
  for (int u = block.thread; u < items * splits; u += block.threads) {
    double values[kValues];
    part(u % items, u / items, values);
    RUTILE_UNROLL
    for (int v = 0; v < kValues; ++v) sums[u * kValues + v] = values[v];
  }
  block.Sync();
  const int stride = items * kValues;
  for (int rest = splits; rest > 1;) {
    const int half = (rest + 1) / 2;
    for (int u = block.thread; u < (rest - half) * stride; u += block.threads) sums[u] += sums[u + half * stride];
    rest = half;
    block.Sync();
  }
}

// The same for parts of one value, which part(i, s) returns.
template <typename Part>
RUTILE_DEVICE void BlockSums(const Block& block, int items, int splits, double* sums, const Part& part) {
  BlockSumsOf<1>(block, items, splits, sums, [&](int i, int split, double* value) { value[0] = part(i, split); });
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BODIES_BLOCK_SUMS_INL_H_
