#include "lib/machine/amx_permission.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "lib/machine/cpu_bf16.h"

namespace rutile {

bool AmxIsPermitted() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  // The headers of older kernels do not name these.
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
  static const bool permitted =
      CpuBf16Instructions() == "AMX-BF16" && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return permitted;
#else
  return false;
#endif
}

}  // namespace rutile
