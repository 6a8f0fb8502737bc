// Describes the machine that a program runs on, without names of machines or users.

#ifndef RUTILE_LIB_MACHINE_MACHINE_H_
#define RUTILE_LIB_MACHINE_MACHINE_H_

#include <cstdint>
#include <string>

namespace rutile {

// Facts about the machine that profiles and benchmarks record beside their times.
struct Machine {
  std::string cpu;              // "Intel(R) Xeon(R) Platinum 8480C"; "x86_64" where the model is not told
  std::string instruction_set;  // the one our kernels choose, in Highway's words: "AVX2", "AVX3" (AVX-512)
  int processors = 0;           // processors of the machine
  int usable_processors = 0;    // processors that this process may use
  int64_t memory_bytes = 0;     // memory that this process may use
  std::string kernel;           // "Linux 6.1.0-18-amd64 x86_64"
};

Machine DescribeMachine();

// Returns the compiler of this library: "gcc 12.2.0", "clang 14.0.6".
std::string CompilerName();

// Returns the processor's model from the text of /proc/cpuinfo, or "" if the text names none.
std::string CpuModel(const std::string& cpuinfo);

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_MACHINE_H_
