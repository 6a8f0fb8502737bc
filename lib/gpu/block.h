// What a body of a block of threads is told: which block and thread it is, and the memory that the block shares.

#ifndef RUTILE_LIB_GPU_BLOCK_H_
#define RUTILE_LIB_GPU_BLOCK_H_

#include <cstdint>

#include "lib/gpu/device_function.h"

namespace rutile {

// A body must be right for any number of threads: on the host there is one, which does all the work. Loops therefore
// run over i = thread, thread + threads, ..., and nothing that a thread holds in registers may outlive a Sync.
struct Block {
  int64_t index;  // of the block, from 0
  int thread, threads;
  void* shared;  // as many bytes as the launch asked for, 16-byte aligned

  // Waits until all threads of the block are here and see each other's writes.
  RUTILE_DEVICE void Sync() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
};

}  // namespace rutile

#endif  // RUTILE_LIB_GPU_BLOCK_H_
