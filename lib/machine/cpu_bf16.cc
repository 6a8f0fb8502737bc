#include "lib/machine/cpu_bf16.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>

namespace rutile {

// Reads the processor's own flags, because clang 14 has no names of these features for __builtin_cpu_supports.
std::string CpuBf16Instructions() {
#if defined(__x86_64__)
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr uint32_t kOsxsave = 1u << 27;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsxsave) == 0) return "";
  uint32_t low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  // registers that the operating system saves
  constexpr uint32_t kAvx512State = 0xe6, kAmxState = 3u << 17;

  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return "";
  constexpr uint32_t kAvx512f = 1u << 16, kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;
  if ((ebx & kAvx512f) == 0 || (low & kAvx512State) != kAvx512State) return "";
  if ((edx & kAmxBf16) != 0 && (edx & kAmxTile) != 0 && (low & kAmxState) == kAmxState) return "AMX-BF16";

  constexpr uint32_t kAvx512Bf16 = 1u << 5;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kAvx512Bf16) != 0) return "AVX512-BF16";
#endif
  return "";
}

}  // namespace rutile
