// Kernels without LibTorch, on fixed data, whose instructions are counted.

#ifndef RUTILE_BENCHMARKS_COUNTED_KERNELS_H_
#define RUTILE_BENCHMARKS_COUNTED_KERNELS_H_

#include "absl/types/span.h"

namespace rutile {

// A kernel that callgrind can count.
struct CountedKernel {
  const char* name;
  // Makes data, runs the kernel once to warm memory, and once inside MeasuredCalls(), whose instructions callgrind
  // counts.
  void (*measure)();
};

absl::Span<const CountedKernel> CountedKernels();

}  // namespace rutile

#endif  // RUTILE_BENCHMARKS_COUNTED_KERNELS_H_
