// How fast this machine is at best, measured: the roof of a roofline.

#ifndef RUTILE_LIB_PROFILE_MACHINE_PEAKS_H_
#define RUTILE_LIB_PROFILE_MACHINE_PEAKS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/profile/machine_facts.h"

namespace rutile {

// Rates per second; 0: not measured. "All" is one thread on each usable processor.
struct MachinePeaks {
  double fma_fp32_one = 0, fma_fp32_all = 0;  // flop, independent multiply-adds in registers
  double fma_fp64_one = 0, fma_fp64_all = 0;
  double matmul_fp32 = 0, matmul_bf16 = 0;          // flop, through PeakOptions::matmul
  double memory_read_one = 0, memory_read_all = 0;  // bytes
  double memory_copy_all = 0;                       // bytes, read and written counted both
  double disk_write = 0, disk_read = 0;             // bytes; the read comes from the page cache where it keeps the file
  double seconds = 0;                               // that measuring took
  bool cached = false;
};

struct PeakOptions {
  double budget_s = 3;
  // Multiplies two n x n matrices once, in fp32 or (bf16 = true) bfloat16, with all processors; false where it has no
  // fast way to. Of the caller's own layer: tools/profile has the products that embeddings are trained with.
  std::function<bool(int n, bool bf16)> matmul;
  std::string temporary_directory;  // for the file of the disk's test, 64 MiB; "": no such test
  std::string cache_directory;      // "": neither read nor written
};

// Peaks from the cache where it has those of a machine with the same facts (and the same parts measured), else
// measured. Errors: of writing the cache or the temporary file, naming it.
absl::StatusOr<MachinePeaks> FindMachinePeaks(const MachineFacts& facts, const PeakOptions& options);

// {"fma_fp32_one": ..., ...}: the names above.
std::string MachinePeaksJson(const MachinePeaks& peaks);
bool ParseMachinePeaks(absl::string_view json, MachinePeaks* peaks);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_MACHINE_PEAKS_H_
