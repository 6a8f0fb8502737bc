// Measures the peak speed of this machine: the roof of a roofline plot.

#ifndef RUTILE_LIB_PROFILE_MACHINE_PEAKS_H_
#define RUTILE_LIB_PROFILE_MACHINE_PEAKS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/profile/machine_facts.h"

namespace rutile {

// Peak rates per second; 0: not measured. "All" means one thread on each usable processor.
struct MachinePeaks {
  double fma_fp32_one = 0, fma_fp32_all = 0;  // flop; independent multiply-adds in registers
  double fma_fp64_one = 0, fma_fp64_all = 0;
  double matmul_fp32 = 0, matmul_bf16 = 0;          // flop; by PeakOptions::matmul
  double memory_read_one = 0, memory_read_all = 0;  // bytes
  double memory_copy_all = 0;                       // bytes; read and written bytes both count
  double disk_write = 0, disk_read = 0;             // bytes; the page cache serves reads if it holds the file
  double seconds = 0;                               // duration of the measurement
  double load = 0;        // threads of all programs that wanted processors before it; -1: not known
  bool exceeded = false;  // measured again because a stage was faster
  bool cached = false;
};

// What to measure, and where to cache the result.
struct PeakOptions {
  double budget_s = 3;
  // Multiplies two n x n matrices once, in fp32 or (bf16 = true) bfloat16, with all processors; returns false if there
  // is no fast way. The caller provides it: tools/profile has the matrix products that embeddings are trained with.
  std::function<bool(int n, bool bf16)> matmul;
  std::string temporary_directory;  // for the disk test's file of 64 MiB; "": no disk test
  std::string cache_directory;      // "": no cache
  bool again = false;               // measure, whatever the cache holds
  double load = -1;                 // MachineLoad(), unless a test has another
  // A stage was seen to be faster than the cached peaks, which are then measured once more, but no second time.
  bool exceeded = false;
};

// Returns how many threads wanted a processor in the last minute (the first number of /proc/loadavg); -1: not known.
double MachineLoad();

// True if other programs took so many processors of the machine, which is what loads are of, that peaks measured
// meanwhile are too low.
bool IsBusy(double load, int processors);

// Returns peaks from the cache if it has an entry for the same facts and the same measured parts, and measures them
// otherwise. What was measured on a busy machine is measured again on a calmer one. Nothing makes a machine faster than
// it is, so each peak is the highest of all measurements. Errors of writing the cache or the temporary file, naming it.
absl::StatusOr<MachinePeaks> FindMachinePeaks(const MachineFacts& facts, const PeakOptions& options);

// Returns a JSON object {"fma_fp32_one": ..., ...} with the names of MachinePeaks.
std::string MachinePeaksJson(const MachinePeaks& peaks);
// Reads such an object; false if it is not one.
bool ParseMachinePeaks(absl::string_view json, MachinePeaks* peaks);

}  // namespace rutile

#endif  // RUTILE_LIB_PROFILE_MACHINE_PEAKS_H_
