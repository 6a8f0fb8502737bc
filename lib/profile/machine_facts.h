// Facts that decide how fast a program can run on this machine, read from the system in a few ms without measuring.

#ifndef RUTILE_LIB_PROFILE_MACHINE_FACTS_H_
#define RUTILE_LIB_PROFILE_MACHINE_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/machine/machine.h"

namespace rutile {

// Hardware, limits and libraries of this process.
struct MachineFacts {
  Machine machine;  // processor, instruction set of our kernels, processors, memory, kernel
  int allowed_by_affinity = 0;
  double allowed_by_cgroup = 0;                      // processors' worth of time; 0: no limit
  std::string bf16;                                  // CpuBf16Instructions: "AMX-BF16", "AVX512-BF16", ""
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // data caches of one processor; 0: unknown
  std::string compiler;                              // that built this program
  // Libraries that this process has loaded; "" if none.
  std::string blas;          // "OpenBLAS", "MKL", "BLIS", "ATLAS", "reference BLAS"
  std::string blas_library;  // name of its file
  std::string libtorch;      // version
  // Advice to the user, in whole sentences.
  std::vector<std::string> warnings;
};

// Reads the facts of this process's machine.
MachineFacts FindMachineFacts();

// Sets blas, blas_library and libtorch from the text of /proc/self/maps.
void FindLoadedLibraries(absl::string_view maps, MachineFacts* facts);

// Returns the facts as a JSON object:
//   {"cpu": ..., "instruction_set": ..., "processors": 2, "usable_processors": 2, "allowed_by_affinity": 2,
//    "allowed_by_cgroup": 0, "memory_bytes": ..., "kernel": ..., "bf16": "", "l1_bytes": ..., "l2_bytes": ...,
//    "l3_bytes": ..., "compiler": ..., "blas": ..., "blas_library": ..., "libtorch": ..., "warnings": [...]}
std::string MachineFactsJson(const MachineFacts& facts);
// Parses MachineFactsJson. Missing values stay empty; false if `json` is no object or a value has another type.
bool ParseMachineFacts(absl::string_view json, MachineFacts* facts);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_MACHINE_FACTS_H_
