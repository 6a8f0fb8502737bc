// Finds the fastest kernel plan for a network on this machine by timing candidates (--compile_preset=max-autotune).

#ifndef RUTILE_LIB_NETWORK_KERNEL_TUNER_H_
#define RUTILE_LIB_NETWORK_KERNEL_TUNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/machine/parallel_for.h"
#include "lib/network/kernel_plan.h"
#include "lib/network/network_shape.h"

namespace rutile {

struct TuneOptions {
  std::vector<int64_t> atoms;  // [species] atoms in one call, taken from a real batch
  // times energies and input derivatives, then the gradients of both, as for forces or stress
  bool second_order = false;
  bool rounding = false;   // times mixed precision (NetworkKernel::SetRounding)
  int64_t batch_size = 0;  // only distinguishes cached plans
  absl::Duration budget = absl::Seconds(2);
  std::string cache_directory;  // created if missing, readable by its owner alone; "" caches nothing
};

struct TunedKernel {
  KernelPlan plan;
  double speedup = 1;   // relative to the default plan, when it was measured
  bool cached = false;  // true if an earlier run measured it
};

// Times candidates in turn until the budget is spent. A candidate that gains less than 2 % over the default plan is not
// chosen, nor is one whose gradients disagree with the default's: these are compared first. If the cache has a plan for
// this processor, shape, precision, atoms, threads and kernel version, that plan is returned without timing; a damaged
// entry is replaced. T is float or double. The only errors are those of writing the cache; they name the file.
template <typename T>
absl::StatusOr<TunedKernel> TuneKernel(const NetworkShape& shape, ThreadPool* pool, const TuneOptions& options);

// Returns $XDG_CACHE_HOME/rutile, else $HOME/.cache/rutile, or "" if neither variable is set.
std::string DefaultCacheDirectory();

// Describes the result to people: "block_atoms=64 gradients=transposed, 1.08 times as fast as the default plan (found
// by an earlier run)".
std::string Describe(const TunedKernel& tuned);

}  // namespace rutile

#endif  // RUTILE_LIB_NETWORK_KERNEL_TUNER_H_
