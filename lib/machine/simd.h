// Sets up Highway: a kernel's source is compiled for four levels of x86, and the best is chosen at run time.
//
// The levels are scalar (Highway 1.0 has no SSE2), SSE4, AVX2 with FMA, and AVX-512. HWY_DISABLED_TARGETS in BUILD
// excludes other targets, which would add size and compile time without a gain for our kernels; it is set there so that
// it holds before any header is read. A kernel's .cc file includes hwy/foreach_target.h before this header and keeps
// its code in HWY_NAMESPACE; the file that calls it uses HWY_DYNAMIC_DISPATCH. Tests run every target that the machine
// has (hwy::SupportedTargets, hwy::SetSupportedTargetsForTest).

#ifndef RUTILE_LIB_MACHINE_SIMD_H_
#define RUTILE_LIB_MACHINE_SIMD_H_

#ifndef HWY_DISABLED_TARGETS
#error "depend on //lib/machine, which chooses the targets"
#endif

#endif  // RUTILE_LIB_MACHINE_SIMD_H_

// This include is outside the guard, because foreach_target.h includes the kernel and this header once for each target.
// Highway has guards of its own.
#include <hwy/highway.h>
