// What a program runs on, for the record of a run: no names of machines or users.

#ifndef RUTILE_LIB_BASE_MACHINE_H_
#define RUTILE_LIB_BASE_MACHINE_H_

#include <cstdint>
#include <string>

namespace rutile {

struct Machine {
  std::string cpu;              // "Intel(R) Xeon(R) Platinum 8480C"; "x86_64" where the model is not told
  std::string instruction_set;  // which our kernels choose, as Highway names it: "AVX2", "AVX3" (AVX-512)
  int processors = 0;           // of the machine
  int usable_processors = 0;    // by this process
  int64_t memory_bytes = 0;     // that this process may use
  std::string kernel;           // "Linux 6.1.0-18-amd64 x86_64"
};

Machine DescribeMachine();

// That compiled this library: "gcc 12.2.0", "clang 14.0.6".
std::string CompilerName();

// The model in the text of /proc/cpuinfo, "" when it has none.
std::string CpuModel(const std::string& cpuinfo);

}  // namespace rutile

#endif  // RUTILE_LIB_BASE_MACHINE_H_
