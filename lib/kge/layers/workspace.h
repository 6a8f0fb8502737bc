// Helpers of ConveKernel and its layers: memory that is reused between steps, and loops over pieces of fixed size.

#ifndef RUTILE_LIB_KGE_LAYERS_WORKSPACE_H_
#define RUTILE_LIB_KGE_LAYERS_WORKSPACE_H_

#include <algorithm>
#include <cstdint>

#include "lib/machine/parallel_for.h"
#include "lib/tensorfile/named_tensors.h"

namespace rutile {

// Returns memory for `size` numbers, that of the last call if it is large enough. Its contents are unspecified.
template <typename T>
T* Take(Tensor* memory, int64_t size) {
  if (!memory->Reuse(DTypeOf<T>(), {size})) *memory = Tensor::Zeros(DTypeOf<T>(), {size});
  return memory->mutable_values<T>().data();
}

inline int64_t NumPieces(int64_t n, int64_t grain) { return (n + grain - 1) / grain; }

inline int NumWorkers(const ThreadPool* pool) { return pool == nullptr ? 1 : pool->num_threads(); }

// Calls body(begin, end, worker) for pieces of `grain` indices, on the pool's threads, or in order if `pool` is null.
template <typename Body>
void ForPieces(ThreadPool* pool, int64_t n, int64_t grain, const Body& body) {
  if (n == 0) return;  // a grain computed from n may be 0
  if (pool != nullptr) return pool->For(n, grain, body);
  for (int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(begin + grain, n), 0);
}

}  // namespace rutile

#endif  // RUTILE_LIB_KGE_LAYERS_WORKSPACE_H_
