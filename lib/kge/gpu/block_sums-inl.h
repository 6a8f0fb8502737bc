// Sums that a block of threads adds up in an order that does not depend on how many threads there are.

#ifndef RUTILE_LIB_KGE_GPU_BLOCK_SUMS_INL_H_
#define RUTILE_LIB_KGE_GPU_BLOCK_SUMS_INL_H_

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

// Sets sums[i], i in [0, items), to the sum of part(i, s) over s in [0, splits), each of which is called once. sums:
// shared memory, [items * splits], which may still be in use by other threads. Neighboring threads have neighboring i.
template <typename Part>
RUTILE_DEVICE void BlockSums(const Block& block, int items, int splits, double* sums, const Part& part) {
  block.Sync();
  for (int u = block.thread; u < items * splits; u += block.threads) sums[u] = part(u % items, u / items);
  block.Sync();
  for (int rest = splits; rest > 1;) {
    const int half = (rest + 1) / 2;
    for (int u = block.thread; u < (rest - half) * items; u += block.threads) sums[u] += sums[u + half * items];
    rest = half;
    block.Sync();
  }
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_GPU_BLOCK_SUMS_INL_H_
