// Highway, set up once: one kernel source is compiled for four levels of x86 and the best is chosen at run time.
//
// Scalar (Highway 1.0 has no SSE2), SSE4, AVX2 with FMA, and AVX-512. The other targets that Highway could build add
// size and time to compile without a gain for our kernels: HWY_DISABLED_TARGETS in BUILD, so that it holds before any
// header is read. A kernel's .cc file includes hwy/foreach_target.h before this header and keeps its code in
// HWY_NAMESPACE; the file that calls it uses HWY_DYNAMIC_DISPATCH. Tests run every target that the machine has
// (hwy::SupportedTargets, hwy::SetSupportedTargetsForTest).

#ifndef RUTILE_LIB_BASE_SIMD_H_
#define RUTILE_LIB_BASE_SIMD_H_

#ifndef HWY_DISABLED_TARGETS
#error "depend on //lib/base, which chooses the targets"
#endif

#endif  // RUTILE_LIB_BASE_SIMD_H_

// Outside the guard: foreach_target.h includes the kernel, and this, once for each target. Highway has guards of its
// own.
#include <hwy/highway.h>
