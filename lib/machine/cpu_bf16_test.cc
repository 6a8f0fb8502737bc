#include "lib/machine/cpu_bf16.h"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace rutile {
namespace {

// Compares with the kernel's own list of the same features.
bool KernelLists(const std::string& flag) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == flag) return true;
    }
    return false;
  }
  return false;
}

TEST(CpuBf16Test, AgreesWithTheKernel) {
  const std::string expected = KernelLists("amx_bf16") ? "AMX-BF16" : KernelLists("avx512_bf16") ? "AVX512-BF16" : "";
  EXPECT_EQ(CpuBf16Instructions(), expected);
}

}  // namespace
}  // namespace rutile
