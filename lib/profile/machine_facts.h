// What decides how fast a program can be on this machine, as far as the system tells: no measurement, a few ms.

#ifndef RUTILE_LIB_PROFILE_MACHINE_FACTS_H_
#define RUTILE_LIB_PROFILE_MACHINE_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/base/machine.h"

namespace rutile {

struct MachineFacts {
  Machine machine;  // processor, instruction set of our kernels, processors, memory, kernel
  int allowed_by_affinity = 0;
  double allowed_by_cgroup = 0;                      // processors' worth of time, 0: no limit
  std::string bf16;                                  // CpuBf16Instructions: "AMX-BF16", "AVX512-BF16", ""
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // data caches that one processor sees; 0: not told
  std::string compiler;                              // of this program
  // Of the libraries that this process has loaded; "" where it has none.
  std::string blas;          // "OpenBLAS", "MKL", "BLIS", "ATLAS", "reference BLAS"
  std::string blas_library;  // its file's name
  std::string libtorch;      // version
  // What a user should change, whole sentences.
  std::vector<std::string> warnings;
};

MachineFacts FindMachineFacts();

// blas, blas_library and libtorch from the text of /proc/self/maps.
void FindLoadedLibraries(absl::string_view maps, MachineFacts* facts);

// {"cpu": ..., "instruction_set": ..., "processors": 2, "usable_processors": 2, "allowed_by_affinity": 2,
//  "allowed_by_cgroup": 0, "memory_bytes": ..., "kernel": ..., "bf16": "", "l1_bytes": ..., "l2_bytes": ...,
//  "l3_bytes":
//  ..., "compiler": ..., "blas": ..., "blas_library": ..., "libtorch": ..., "warnings": [...]}
std::string MachineFactsJson(const MachineFacts& facts);
// What is missing stays empty; false when `json` is no object or a value has another type.
bool ParseMachineFacts(absl::string_view json, MachineFacts* facts);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_MACHINE_FACTS_H_
