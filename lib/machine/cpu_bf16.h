// Tells whether this processor multiplies 16-bit numbers; without such instructions mixed precision is slower than
// fp32.

#ifndef RUTILE_LIB_MACHINE_CPU_BF16_H_
#define RUTILE_LIB_MACHINE_CPU_BF16_H_

#include <string>

namespace rutile {

// Returns the bfloat16 instructions that processor and operating system offer: "AMX-BF16", "AVX512-BF16", or "" for
// none (always "" on processors other than x86-64).
std::string CpuBf16Instructions();

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_CPU_BF16_H_
