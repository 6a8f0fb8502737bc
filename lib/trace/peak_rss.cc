#include "lib/trace/peak_rss.h"

#include <cstdio>

namespace rutile {

int64_t PeakRssBytes() {
  // getrusage is not used, because it includes what the process was before exec.
  FILE* const file = std::fopen("/proc/self/status", "re");
  if (file == nullptr) return 0;
  char line[256];
  long long kilobytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "VmHWM: %lld", &kilobytes) == 1) break;
  }
  std::fclose(file);
  return kilobytes * 1024;
}

}  // namespace rutile
