// Whether this processor multiplies numbers of 16 bits, where mixed precision would otherwise be slower than fp32.

#ifndef RUTILE_LIB_BASE_CPU_BF16_H_
#define RUTILE_LIB_BASE_CPU_BF16_H_

#include <string>

namespace rutile {

// The instructions for bfloat16 that processor and operating system offer: "AMX-BF16", "AVX512-BF16", or "" for none
// of them (always, on other processors than x86-64).
std::string CpuBf16Instructions();

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_CPU_BF16_H_
