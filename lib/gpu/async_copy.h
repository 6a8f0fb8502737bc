// Copies from a GPU's memory into the memory of a block while the block computes.

#ifndef RUTILE_LIB_GPU_ASYNC_COPY_H_
#define RUTILE_LIB_GPU_ASYNC_COPY_H_

#include "lib/gpu/device_function.h"

namespace rutile {

// Numbers that one instruction loads.
template <typename T>
struct alignas(16) Numbers16 {
  static constexpr int kSize = 16 / sizeof(T);
  T value[kSize];
};

// Starts to copy 16 bytes, aligned likewise. The host, and GPUs before compute capability 8.0, copy at once.
template <typename T>
RUTILE_DEVICE inline void StartCopy(Numbers16<T>* shared, const Numbers16<T>* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
      "l"(from)
      : "memory");
#else
  *shared = *from;
#endif
}

// Starts to copy the first `valid` of 16 bytes' numbers, and zeros after them. Both addresses are 16-byte aligned, and
// what is not valid is not read.
template <typename T>
RUTILE_DEVICE inline void StartCopyOf(int valid, Numbers16<T>* shared, const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
      "l"(from), "r"(valid * static_cast<int>(sizeof(T)))
      : "memory");
#else
  for (int i = 0; i < Numbers16<T>::kSize; ++i) shared->value[i] = i < valid ? from[i] : T{0};
#endif
}

// Starts to copy one number, which is not read and is 0 if it is not valid.
template <typename T>
RUTILE_DEVICE inline void StartCopyOfOne(bool valid, T* shared, const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
      "l"(from), "n"(static_cast<int>(sizeof(T))), "r"(valid ? static_cast<int>(sizeof(T)) : 0)
      : "memory");
#else
  *shared = valid ? *from : T{0};
#endif
}

// Ends a group of copies that this thread started.
RUTILE_DEVICE inline void EndCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all groups of this thread except the latest kRunning.
template <int kRunning>
RUTILE_DEVICE inline void WaitForCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kRunning) : "memory");
#endif
}

}  // namespace rutile

#endif  // RUTILE_LIB_GPU_ASYNC_COPY_H_
